"""The tasks of GLUE (Wang et al. 2019): the columns of their files, their labels, their measures.

This module is light: `--task` reads its choices here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class GlueTask:
    """How the files of a task are read, in the layout of the official download.

    Attributes:
        text_columns: the columns of the texts, one or two.
        label_column: the column of the label.
        labels: the labels, in the order of their numbers; () if the label is a number.
        metrics: keys of `tta.scoring.classification.report.METRICS`; the first one chooses.
        columns: the columns of a file without a header.
        dev_file: the file of the dev part.
        skips_rows: whether rows of another number of columns, or with an empty one, are left out.
            The official training file of QQP has some.
    """

    text_columns: tuple[str, ...]
    label_column: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    dev_file: str = "dev.tsv"
    skips_rows: bool = False


_PAIR = ("sentence1", "sentence2")
_ENTAILMENT = ("entailment", "not_entailment")

TASKS = {
    "cola": GlueTask(
        ("sentence",),
        "label",
        ("0", "1"),
        ("mcc", "accuracy"),
        columns=("source", "label", "mark", "sentence"),
    ),
    "sst2": GlueTask(("sentence",), "label", ("0", "1"), ("accuracy",)),
    "mrpc": GlueTask(("#1 String", "#2 String"), "Quality", ("0", "1"), ("f1", "accuracy")),
    "stsb": GlueTask(_PAIR, "score", (), ("pearson", "spearman")),
    "qqp": GlueTask(
        ("question1", "question2"), "is_duplicate", ("0", "1"), ("accuracy", "f1"), skips_rows=True
    ),
    "mnli": GlueTask(
        _PAIR,
        "gold_label",
        ("contradiction", "entailment", "neutral"),
        ("accuracy",),
        dev_file="dev_matched.tsv",
    ),
    "qnli": GlueTask(("question", "sentence"), "label", _ENTAILMENT, ("accuracy",)),
    "rte": GlueTask(_PAIR, "label", _ENTAILMENT, ("accuracy",)),
    "wnli": GlueTask(_PAIR, "label", ("0", "1"), ("accuracy",)),
}
