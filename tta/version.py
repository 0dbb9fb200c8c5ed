"""The version of tta-lm."""

__version__ = "0.1.0"
