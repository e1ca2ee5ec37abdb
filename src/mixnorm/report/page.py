"""The whole page, from records alone: the same records give the same bytes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from mixnorm.evaluation import Record
from mixnorm.report.answer import Verdict, answer, sentence, verdict
from mixnorm.report.figures import figures
from mixnorm.report.groups import Group, grouped
from mixnorm.report.html import Html, element, join
from mixnorm.report.labels import SOURCE, label, numbered
from mixnorm.report.pictures import pictures
from mixnorm.report.runs import finished
from mixnorm.report.tables import error_table, run_table, table


def page(records: Iterable[Record]) -> str:
    """Make one page that needs nothing but itself: no network, no script, no font."""
    every = sorted(records, key=lambda record: record.id)
    groups = grouped(finished(every))
    failed = [record for record in every if record.error is not None]
    numbers = numbered(run.label for group in groups for run in group.runs)
    verdicts = [one for group in groups if (one := verdict(group)) is not None]
    body = [
        _head(verdicts, groups, len(every) - len(failed)),
        *(_section(group, number, len(groups), numbers) for number, group in enumerate(groups, start=1)),
        _failures(failed),
        _foot(every),
    ]
    return "<!doctype html>\n" + element("html", _meta(), element("body", *body), lang="en") + "\n"


def _meta() -> Html:
    style = (files("mixnorm.report") / "page.css").read_text(encoding="utf-8")
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", "mixnorm: does adaptation help?"),
        element("style", Html(style)),
    )


def _head(verdicts: Sequence[Verdict], groups: Sequence[Group], count: int) -> Html:
    links = [element("li", element("a", group.name, href=f"#protocol-{n}")) for n, group in enumerate(groups, start=1)]
    chosen = (
        "The method named is the one with the lowest error on these very samples, so a little of its lead is luck. "
    )
    return element(
        "header",
        element("h1", "Does adaptation help?"),
        element("p", answer(verdicts), class_="answer"),
        element(
            "p",
            chosen if verdicts else "",
            f"{_plural(count, 'run')} in {_plural(len(groups), 'protocol')}.",
            class_="note",
        ),
        element("nav", element("ul", *links)) if len(links) > 1 else "",
    )


def _section(group: Group, number: int, of: int, numbers: dict[str, int]) -> Html:
    best = verdict(group)
    return element(
        "section",
        element("h2", "Protocol: ", group.name),
        element("p", _facts(group), class_="note"),
        element("p", "Differs from the other protocols in: ", ", ".join(group.differs), ".", class_="note")
        if of > 1
        else "",
        element("p", sentence(best), class_="lead") if best and of > 1 else "",
        error_table(group, numbers),
        element(
            "p",
            f"Below each error its 95 % interval (binomial, {group.count:,} samples); the lowest of a column is bold.",
            class_="note",
        ),
        element("div", *figures(group, best.method if best else None, numbers, f"protocol-{number}"), class_="figures"),
        _samples(group, best, numbers),
        element("details", element("summary", "All runs"), run_table(group)),
        element("details", element("summary", "The protocol in full"), _protocol(group)),
        id=f"protocol-{number}",
    )


def _facts(group: Group) -> str:
    words = group.protocol
    return (
        f"{group.count:,} samples, severity {words.get('severity')}, model {words.get('model')}, "
        f"seed {words.get('seed')}, {words.get('dtype')} on {words.get('device')}."
    )


def _samples(group: Group, best: Verdict | None, numbers: dict[str, int]) -> Html:
    size = group.fair_sizes[-1]
    before, after = group.run(SOURCE, size), group.run(best.method, size) if best else None
    if before is None or after is None:
        return Html("")
    title = element("h3", f"Samples, with the predictions of {before.label} and {after.label} at batch size {size}")
    return join(title, pictures(before, after, numbers))


def _protocol(group: Group) -> Html:
    rows = [[field, element("td", str(value), class_="text")] for field, value in sorted(group.protocol.items())]
    return table(["field", "value"], rows)


def _failures(failed: Sequence[Record]) -> Html:
    if not failed:
        return Html("")
    rows = [[record.id, label(_method(record)), element("td", _reason(record), class_="text")] for record in failed]
    return element(
        "section", element("h2", f"{_plural(len(failed), 'run')} failed"), table(["run", "method", "why"], rows)
    )


def _method(record: Record) -> Mapping[str, Any]:
    method: Mapping[str, Any] = (record.spec or record.fingerprint).get("method", {})
    return method


def _reason(record: Record) -> str:
    return f"{record.error['type']}: {record.error['message']}" if record.error else ""


def _foot(records: Sequence[Record]) -> Html:
    if not records:
        return Html("")
    starts = sorted(record.started[:10] for record in records)
    days = starts[0] if starts[0] == starts[-1] else f"{starts[0]} to {starts[-1]}"
    machines = sorted({json.dumps(record.hardware, sort_keys=True) for record in records})
    commits = sorted({record.commit for record in records if record.commit})
    words = f"Made by mixnorm from {_plural(len(records), 'record')} of {days}"
    words += f", commit {', '.join(commits)}." if commits else "."
    return element(
        "footer", element("p", words), *(element("p", "Measured on ", element("code", one)) for one in machines)
    )


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
