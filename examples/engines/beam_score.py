"""Scores a column of Parquet with Apache Beam: python beam_score.py 'IN/*.parquet' OUT"""

import sys

import apache_beam as beam


class Score(beam.DoFn):
    def setup(self):
        import tta

        self.lm = tta.load(engine="onnxruntime", threads=1)

    def process(self, rows):
        for row, score in zip(rows, self.lm.score([row["text"] for row in rows]), strict=True):
            yield {"text": row["text"], "score": float(score)}


with beam.Pipeline(argv=sys.argv[3:]) as pipeline:
    rows = pipeline | beam.io.ReadFromParquet(sys.argv[1]) | beam.BatchElements(1000, 5000)
    rows | beam.ParDo(Score()) | beam.Map(repr) | beam.io.WriteToText(sys.argv[2])
