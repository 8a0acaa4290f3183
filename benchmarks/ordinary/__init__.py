"""What a person runs: ``Model(k).fit(X)`` with nothing else set, by unveil and its peers on the same data.

``python -m benchmarks ordinary [--only KMeans] [--kinds blobs] [--most-rows 10000] [--seeds 1] [--held-out]``

A **subject** (`subjects.py`) is an estimator, its peers, its data and its judge (`judges.py`); a **cell** (`grid.py`)
is a kind of data (`kinds.py`), a shape and a seed. `turns.py` times the contenders of a cell in turns,
`measure.py` goes through the cells, `summary.py` and `report.py` say what came out. `reference.py` has the mark that a
mixture should reach. ``--held-out`` takes other shapes, seeds and kinds, which no setting of unveil was chosen by: it
is for looking once, after the choice.
"""
