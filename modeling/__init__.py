"""Layers, encoders, heads, losses and models: see README.md for the ladder."""
