"""Scores a column of Parquet with Ray Data: python ray_score.py IN OUT"""

import sys

import ray


class Score:
    def __init__(self):
        import tta

        self.lm = tta.load(engine="onnxruntime", threads=1)

    def __call__(self, batch):
        return {**batch, "score": self.lm.score(batch["text"])}


ray.init(num_cpus=4)  # more than there are actors: else it waits for ever
actors = ray.data.ActorPoolStrategy(size=2)
ray.data.read_parquet(sys.argv[1]).map_batches(Score, compute=actors).write_parquet(sys.argv[2])
