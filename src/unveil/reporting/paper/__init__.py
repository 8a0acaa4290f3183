"""The page: from the plain data of `unveil.reporting.parts` to one HTML file that opens offline."""
