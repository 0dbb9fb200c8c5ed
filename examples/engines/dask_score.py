"""Scores a column of Parquet with Dask: python dask_score.py IN OUT"""

import sys

import dask.dataframe as dd
from dask.distributed import Client

import tta

if __name__ == "__main__":
    lm = tta.load(engine="onnxruntime", threads=1)  # pickled as its name
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        rows = dd.read_parquet(sys.argv[1])
        scored = rows.map_partitions(
            lambda part: part.assign(score=lm.score(part["text"])),
            meta=rows._meta.assign(score=0.0),
        )
        scored.to_parquet(sys.argv[2])
