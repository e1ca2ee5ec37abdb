"""The whole page, from records alone: the same records give the same bytes."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from mixnorm.evaluation import Record
from mixnorm.report.findings import Findings
from mixnorm.report.html import Html, element
from mixnorm.report.labels import label
from mixnorm.report.section import section
from mixnorm.report.tables import table


def page(findings: Findings) -> str:
    """Make one page that needs nothing but itself: no network, no script, no font."""
    names = [f"protocol-{number}" for number, _ in enumerate(findings.groups, start=1)]
    sections = [section(group, name, findings.numbers) for group, name in zip(findings.groups, names, strict=True)]
    body = element("body", _top(findings, names), *sections, _failures(findings.failed), _foot(findings.records))
    return "<!doctype html>\n" + element("html", _head(), body, lang="en") + "\n"


def _head() -> Html:
    style = (files("mixnorm.report") / "page.css").read_text(encoding="utf-8")
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", "mixnorm: does adaptation help?"),
        element("style", Html(style)),
    )


def _top(findings: Findings, names: Sequence[str]) -> Html:
    pairs = zip(findings.groups, names, strict=True)
    links = [element("li", element("a", group.name, href=f"#{name}")) for group, name in pairs]
    return element(
        "header",
        element("h1", "Does adaptation help?"),
        element("p", findings.answer, class_="answer"),
        element("p", _caution(findings), class_="note"),
        element("nav", element("ul", *links)) if len(links) > 1 else "",
    )


def _caution(findings: Findings) -> str:
    done = len(findings.records) - len(findings.failed)
    counts = f"{_plural(done, 'run')} in {_plural(len(findings.groups), 'protocol')}."
    chosen = "The method named has the lowest error on these very samples, so a little of its lead may be luck."
    return f"{chosen} {counts}" if findings.verdicts else counts


def _failures(failed: Sequence[Record]) -> Html:
    if not failed:
        return Html("")
    rows = [[record.id, *_asked(record), element("td", _reason(record), class_="text")] for record in failed]
    title = element("h2", f"{_plural(len(failed), 'run')} failed")
    return element("section", title, table(["run", "method", "batch size", "why"], rows), id="failed")


def _asked(record: Record) -> tuple[str, str]:
    spec: Mapping[str, Any] = record.spec or {}
    return label(spec.get("method", {})), str(spec.get("protocol", {}).get("batch_size"))


def _reason(record: Record) -> str:
    return f"{record.error['type']}: {record.error['message']}" if record.error else ""


def _foot(records: Sequence[Record]) -> Html:
    starts = sorted(record.started[:10] for record in records)
    days = starts[0] if starts[0] == starts[-1] else f"{starts[0]} to {starts[-1]}"
    commits = sorted({record.commit for record in records if record.commit})
    made = f"Made by mixnorm from {_plural(len(records), 'record')} of {days}"
    machines = sorted({json.dumps(record.hardware, sort_keys=True) for record in records})
    return element(
        "footer",
        element("p", f"{made}, commit {', '.join(commits)}." if commits else f"{made}."),
        *(element("p", "Measured on ", element("code", _machine(machine))) for machine in machines),
    )


def _machine(hardware: str) -> str:
    return ", ".join(f"{name} {value}" for name, value in json.loads(hardware).items() if value is not None)


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
