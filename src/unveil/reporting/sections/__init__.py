"""The sections of the page, a file each: from an analysis to plain text, numbers and figures."""
