"""The page: from the plain data of `unveil.report.parts` to one HTML file that opens offline."""
