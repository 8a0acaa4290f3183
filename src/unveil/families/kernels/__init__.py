"""The E step of a family in one compiled piece."""
