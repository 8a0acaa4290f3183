"""The browser is for all tests of reports."""

from tests.report.browser import browser

__all__ = ["browser"]
