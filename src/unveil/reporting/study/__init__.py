"""What is found in a table: the model that suits it, its verdicts, groups, outliers, labels and time."""
