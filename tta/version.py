"""The version of tta-lm."""

__version__ = "0.2.0"
