"""The report: one HTML page, made from records alone, that says whether adaptation helps and what it costs."""

from mixnorm.report.findings import Findings
from mixnorm.report.groups import Group
from mixnorm.report.page import page

__all__ = ["Findings", "Group", "page"]
