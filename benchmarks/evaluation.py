"""Reranks the lists of README's table of results, and writes its figures as JSON.

    python -m benchmarks.evaluation

The data is in $TTA_DATA. The weights are tuned on the whole dev files, as in evaluate.sh, which
prints more columns. Every set is written when it is measured; --sets measures some of them again.
"""

import json
from pathlib import Path
from typing import Any

from absl import flags

from benchmarks import ROOT, commit, evaluation_data
from tta import cli
from tta.data.text.files import open_output
from tta.scoring.reports.table import Report
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files

FLAGS = flags.FLAGS

ARCTIC, ATIS = "nbest/asr_arctic/{}.%s.json", "nbest/asr_hyporadise/{}_atis.json"
MT = "nbest/mt_iwslt14_deen/{}."
# Set -> its test and dev files below the data, each (lists, references), and its metric's settings.
SETS = {
    "Arctic clean": ((ARCTIC % "clean", None), "test", "dev", {}),
    "Arctic 5 dB": ((ARCTIC % "snr5", None), "test", "dev", {}),
    "ATIS": ((ATIS, None), "test", "train", {}),
    "IWSLT'14": ((f"{MT}nbest", f"{MT}ref"), "test", "dev", {"bleu_tokenize": "none"}),
}


def main():
    path = Path(FLAGS.output_file)
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in FLAGS.sets or SETS:
        record[name] = measure(*SETS[name])
        print(name, json.dumps(record[name]))
        with open_output(path, overwrite=True) as stream:
            stream.write(json.dumps(record, indent=1) + "\n")


def measure(names, test, dev, settings):
    """The figures of a set of lists.

    {"metric", "commit", "lists", "dev lists", "signatures", "rows": {row: [value, gain in percent,
    its interval or None]}, "differences": {"A minus B": [difference, low, high]}}.
    """
    files = {}
    for part, prefix in ((test, ""), (dev, "dev_")):
        paths = [name and str(evaluation_data.path(name.format(part))) for name in names]
        files |= dict(zip((f"{prefix}nbest_file", f"{prefix}reference_file"), paths, strict=True))
    config = RerankConfig(**files, **settings)
    return figures(rerank_files(config))


def figures(report: Report) -> dict[str, Any]:
    """What the record keeps of a report; see `measure`."""
    rows = {
        row.name: [
            round(row.value, 4),
            round(row.gain, 4),
            None if row.interval[0] != row.interval[0] else [round(x, 4) for x in row.interval],
        ]
        for row in report.test.evaluation.rows
    }
    differences = {
        f"{difference.first} minus {difference.second}": [
            round(value, 4) for value in (difference.value, *difference.interval)
        ]
        for difference in report.test.evaluation.differences
    }
    return {
        "metric": report.metric.name,
        "commit": commit(),
        "lists": report.test.num_lists,
        "dev lists": report.dev.num_lists,
        "signatures": report.signatures,
        "rows": rows,
        "differences": differences,
    }


if __name__ == "__main__":
    flags.DEFINE_string("output_file", str(ROOT / "docs/evaluation.json"), "Output file.")
    flags.DEFINE_multi_enum("sets", None, list(SETS), "Set to measure. Default: all.")
    cli.run(main)
