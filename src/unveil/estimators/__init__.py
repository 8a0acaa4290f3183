"""The scikit-learn faces: check input, assemble the parts, run the loop, set attributes."""
