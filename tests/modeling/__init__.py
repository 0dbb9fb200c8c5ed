"""Tests of modeling/, and what they share: `tiny` models and their NumPy twin, `numpy_tta`."""
