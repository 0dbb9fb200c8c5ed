"""The tests: a mirror of the rooms."""
