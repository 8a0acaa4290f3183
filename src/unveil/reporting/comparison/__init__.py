"""What changed between two tables: columns that drifted, groups that grew, rows that no longer fit."""
