"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.reporting.comparison.compare import Comparison as Comparison
from unveil.reporting.comparison.compare import compare as compare
from unveil.reporting.report import Report as Report
from unveil.reporting.report import report as report
from unveil.reporting.study.settings import Progress as Progress
