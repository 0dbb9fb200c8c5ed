"""Layers, encoders, heads, losses and models. README.md lists them, lowest first."""
