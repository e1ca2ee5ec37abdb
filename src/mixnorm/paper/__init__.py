"""The paper: its tables as data, repeating them, and comparing what is measured with what is published."""

from mixnorm.paper.comparison import Comparison
from mixnorm.paper.reproduce import iter_reproduce, reproduce
from mixnorm.paper.selection import select
from mixnorm.paper.specs import Setup
from mixnorm.paper.table import Cell, Line, Run, Table
from mixnorm.paper.tables import list_tables, load_table

__all__ = [
    "Cell",
    "Comparison",
    "Line",
    "Run",
    "Setup",
    "Table",
    "iter_reproduce",
    "list_tables",
    "load_table",
    "reproduce",
    "select",
]
