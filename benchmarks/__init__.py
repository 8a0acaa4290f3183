"""unveil and its peers side by side: ``python -m benchmarks``, or one part of it, ``python -m benchmarks kmeans``.

A **case** (`cases.py`) is a **task** (`tasks/`: which data, what is timed, how a solution is judged) and the
**contenders** (`contenders/`: one file per library) that take it on. `race.py` runs them in turn, each in a process
of its own; `table.py` says who was how fast, and whether they found the same thing.

`ordinary/` has whole fits with nothing set, over many kinds of data. Apart from these, `growth.py` times passes on
tables of rising size, `passes.py` counts the passes of schedules (`climbs.py`: on what), `reads.py` the reads of a file
by a search for a model, and `startup.py` times imports and first fits.
"""
