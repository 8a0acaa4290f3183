"""What a notebook shows of a fitted estimator: key results, a small picture, the verdicts."""
