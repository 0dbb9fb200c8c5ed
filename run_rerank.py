"""Reranks N-best lists with a language model: run_rerank.py --help."""

from tta.flags.rerank import run

if __name__ == "__main__":
    run()
