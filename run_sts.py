"""Compares sentence pairs and correlates the result with gold scores: run_sts.py --help."""

from tta.flags.sts import run

if __name__ == "__main__":
    run()
