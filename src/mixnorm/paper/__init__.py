"""The paper: its tables as data, repeating them, and comparing what is measured with what is published."""

from mixnorm.paper.table import Cell, Line, Run, Table
from mixnorm.paper.tables import list_tables, load_table

__all__ = ["Cell", "Line", "Run", "Table", "list_tables", "load_table"]
