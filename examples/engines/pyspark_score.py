"""Scores a column of Parquet with PySpark: python pyspark_score.py IN OUT [MASTER]"""

import sys

from pyspark.sql import SparkSession, functions


def score(batches):
    import tta

    lm = tta.load(engine="onnxruntime", threads=1)
    for rows in batches:
        yield rows.assign(score=lm.score(rows["text"]))


master = [*sys.argv, "local[2,4]"][3]  # two workers, four tries
spark = SparkSession.builder.master(master).getOrCreate()
rows = spark.read.parquet(sys.argv[1])
schema = rows.withColumn("score", functions.lit(0.0)).schema
rows.mapInPandas(score, schema).write.parquet(sys.argv[2])
