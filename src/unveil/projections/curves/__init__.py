"""Principal curves: project and smooth in turn."""
