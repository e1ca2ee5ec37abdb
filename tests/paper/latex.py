"""The tables of the paper as its LaTeX source has them, read without any help from the package."""

import re
from dataclasses import dataclass

import pytest

from tests.real import PROJECT

SOURCE = PROJECT.parent / "shared" / "paper" / "mixnorm.tex"
needs_source = pytest.mark.skipif(not SOURCE.exists(), reason=f"the source of the paper is not at {SOURCE}")

# In this order: what stands inside of a command has to be plain before the command around it is.
PLAIN = (
    (r"\(\\cite\{[^}]*\}\)", ""),
    (r"\\[ch]line(\{[^}]*\})?", ""),
    (r"\\&", "and"),
    (r"\\%", ""),
    (r"\s*\$\\rightarrow\$\s*", " to "),
    (r"\$\\tau_\{max\}\$", "tau_max"),
    (r"\$\\tau\$", "tau"),
    (r"\$m\$", "m"),
    (r"\\multirow\{\d+\}\{\*\}\{([^}]*)\}", r"\1"),
    (r"\\multicolumn\{\d+\}\{[^}]*\}\{([^}]*)\}", r"\1"),
    (r"\\textbf\{([^}]*)\}", r"\1"),
)


@dataclass(frozen=True)
class LatexTable:
    label: str | None
    caption: str
    rows: list[list[str]]


def source() -> str:
    return SOURCE.read_text(encoding="utf-8")


def latex_tables() -> list[LatexTable]:
    return [_table(text) for text in re.findall(r"\\begin\{table\}(.*?)\\end\{table\}", source(), re.DOTALL)]


def _table(text: str) -> LatexTable:
    body, after = re.split(r"\\end\{tabular\}", re.split(r"\\begin\{tabular\}\{[^}]*\}", text)[1])
    label = re.search(r"\\label\{([^}]*)\}", after)
    rows = [[" ".join(cell.split()) for cell in plain(row).split("&")] for row in body.split(r"\\")]
    return LatexTable(
        label=label[1] if label else None,
        caption=plain(after.split(r"\caption{")[1]),
        rows=[[cell for cell in row if cell] for row in rows if any(row)],
    )


def plain(text: str) -> str:
    for pattern, replacement in PLAIN:
        text = re.sub(pattern, replacement, text)
    return text
