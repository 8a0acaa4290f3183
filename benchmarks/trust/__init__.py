"""Can the verdicts be trusted? Planted failures, healthy fits, structureless tables and clusters, with figures.

``python -m benchmarks.trust [planted healthy size power kinds peers] [--third] [--seeds N] [--write docs/trust.md]``

| part | data | what is asked |
|---|---|---|
| planted | `planted/`: fits that are wrong in a way that is known | is the trouble named? |
| healthy | `healthy/`: models on data drawn from them | is there no false alarm? |
| size | `structureless.py`: tables without groups | how often are groups said to be real? |
| power | `clustered.py`: tables with groups | how often is their number right? |
| kinds | `columns.py`: words, counts, yes/no and holes, with groups and without | both of these |
| peers | the tables of size and power | the same for mclust, scikit-learn and HDBSCAN |
"""
