"""Tables as people have them, with what a careful analyst would say of each: does the report say it too?

``python -m benchmarks.tables [--only NAME] [--third] [--keep DIR]`` writes every table to a file, runs
``unveil report FILE --outputs DIR`` on it and compares `summary.json` (and the rows and the page beside it) with the
role of every column, the number of groups and the verdicts that are right. ``python -m benchmarks.tables held-out
--seed 7 --count 20`` does so for tables that are drawn anew, troubles and all.

What is expected was written before there was a report to hold to it, and from the tables alone. Where two answers
are both right, both are listed. A table that disagrees is a fault of the report, unless somebody who has only seen the
table would say the same as the report.
"""
