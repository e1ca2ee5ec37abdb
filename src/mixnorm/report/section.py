"""The part of the page about one protocol."""

from mixnorm.report.answer import Verdict, sentence, verdict
from mixnorm.report.figures import figures
from mixnorm.report.groups import Group
from mixnorm.report.html import Html, element, join
from mixnorm.report.labels import SOURCE
from mixnorm.report.pictures import pictures
from mixnorm.report.tables import error_table, run_table, table

MCE = "mCE: each corruption's error as a percentage of Source's, averaged over the corruptions."


def section(group: Group, name: str, numbers: dict[str, int]) -> Html:
    """Show a protocol: what was found, the errors, figures, samples and every run; `name` is its id on the page."""
    best = verdict(group)
    return element(
        "section",
        element("h2", "Protocol: ", group.name),
        element("p", _facts(group), class_="note"),
        _among_others(group, best) if group.differs else "",
        error_table(group, numbers),
        element("p", _intervals(group), class_="note"),
        element("div", *figures(group, best.method if best else None, numbers, name), class_="figures"),
        _samples(group, best, numbers),
        element("details", element("summary", "All runs"), run_table(group), element("p", _mce(group), class_="note")),
        element("details", element("summary", "The protocol in full"), _in_full(group)),
        id=name,
    )


def _facts(group: Group) -> str:
    words = group.protocol
    return (
        f"{words.get('data')}, {group.count:,} samples, severity {words.get('severity')}; model {words.get('model')}, "
        f"seed {words.get('seed')}, {words.get('dtype')} on {words.get('device')}; reset: {words.get('reset')}."
    )


def _among_others(group: Group, best: Verdict | None) -> Html:
    differs = f"Not comparable with the other protocols, which differ in: {', '.join(group.differs)}."
    lead = element("p", sentence(best), class_="lead") if best else ""
    return join(element("p", differs, class_="note"), lead)


def _intervals(group: Group) -> str:
    return (
        f"Below each error its 95 % interval for {group.count:,} samples; the lowest of a column is bold. Time is "
        "measured in the same run, in multiples of the source model's on the same batches."
        f"{_fitting(group)}"
    )


def _mce(group: Group) -> str:
    """Say what the mean corruption error is, and which corruptions leave it undefined."""
    errors = [run.corruptions for run in group.of(SOURCE)]
    without = sorted({name for each in errors for name, error in each.items() if error == 0})
    words = ", ".join(name.replace("_", " ") for name in without)
    return f"{MCE} It is not defined where Source makes no mistake: {words}." if without else MCE


def _fitting(group: Group) -> str:
    spent = [run.cost["fit"]["seconds"] for run in group.runs if "fit" in run.cost]
    if not spent:
        return ""
    return f" Adapting before that took {min(spent):.1f} to {max(spent):.1f} seconds, which are not in it."


def _samples(group: Group, best: Verdict | None, numbers: dict[str, int]) -> Html:
    size = group.fair_sizes[-1]
    before, after = group.run(SOURCE, size), group.run(best.method, size) if best else None
    if before is None or after is None:
        return Html("")
    title = f"Samples, with the predictions of {before.label} and {after.label} at batch size {size}"
    return join(element("h3", title), pictures(before, after, numbers))


def _in_full(group: Group) -> Html:
    rows = [[field, element("td", _words(value), class_="text")] for field, value in sorted(group.protocol.items())]
    return table(["field", "value"], rows)


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
