"""The browser is for all tests of reports."""

from tests.reporting.browser import browser

__all__ = ["browser"]
