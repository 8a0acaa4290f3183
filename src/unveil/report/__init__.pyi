"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.report.analysis import Progress as Progress
from unveil.report.write import Report as Report
from unveil.report.write import write_report as write_report
