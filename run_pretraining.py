"""Trains a language model on TFRecord shards: run_pretraining.py --help."""

from tta.flags.pretraining import run

if __name__ == "__main__":
    run()
