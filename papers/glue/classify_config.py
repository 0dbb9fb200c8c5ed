"""Settings of tta classify, and the tasks of GLUE (Wang et al. 2019).

Names are those of BERT's run_classifier where it has one.
"""

from dataclasses import dataclass

from tta.choices import PRECISIONS
from tta.errors import InputError
from tta.papers.glue.config import POOLINGS
from tta.settings import FILES, SEED, Config, setting


@dataclass(frozen=True)
class GlueTask:
    """How the files of a task are read, in the layout of the official download.

    Attributes:
        text_columns: the columns of the texts, one or two.
        label_column: the column of the label.
        labels: the labels, in the order of their numbers; () if the label is a number.
        metrics: keys of `tta.papers.glue.report.METRICS`; the first one chooses.
        columns: the columns of a file without a header.
        dev_file: the file of the dev part.
        skips_rows: whether rows of another number of columns, or with an empty one, are left out.
            The official training file of QQP has some.
        limits: the lowest and the highest number that is predicted; None without limits.
    """

    text_columns: tuple[str, ...]
    label_column: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    dev_file: str = "dev.tsv"
    skips_rows: bool = False
    limits: tuple[float, float] | None = None


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
    "stsb": GlueTask(_PAIR, "score", (), ("pearson", "spearman"), limits=(0.0, 5.0)),
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


@dataclass(frozen=True, kw_only=True)
class ClassifyConfig(Config):
    """On which labelled texts a model is fine-tuned, and how."""

    output_dir: str = setting(
        ...,
        "Folder for the fine-tuned model, the predictions and what an interrupted command needs to "
        "go on, when you repeat it. --model=FOLDER then loads the model.",
        group=FILES,
    )
    task: str | None = setting(
        None,
        "A task of GLUE. It names the columns, the labels and the measures. Default: files of your "
        "own.",
        choices=TASKS,
    )
    data_dir: str | None = setting(
        None, "Folder of the task's files as GLUE has them: train.tsv and dev.tsv."
    )
    train_file: str | None = setting(
        None,
        "Labelled texts to train on, in UTF-8, columns separated by tabs: label and text, or "
        "label, text and text for pairs. Or, with a header, the columns label and sentence, or "
        "label, sentence1 and sentence2; then commas (csv) may separate them. One file, or "
        "comma-separated paths, folders or globs. Files may be plain, .gz, .bz2 or .xz.",
    )
    dev_file: str | None = setting(
        None, "Labelled texts to measure and to choose the best run, in the layout of the training."
    )
    test_file: str | None = setting(
        None,
        "Further texts, with or without labels. The best run's predictions are written to "
        "test_predictions.tsv in the output folder, and measured if there are labels.",
    )
    text_columns: list[str] | None = setting(
        None,
        "For files with a header: names of the columns of the texts, one or two. Default: "
        "sentence1,sentence2 if the header has both, else sentence.",
    )
    label_column: str = setting(
        "label", "For files with a header: name of the column of the label."
    )
    regression: bool = setting(
        False, "The labels are numbers, and the model predicts numbers, as in --task=stsb."
    )
    learning_rates: list[float] = setting(
        [1e-4],
        "Highest learning rates, comma-separated. There is a run for each rate and seed. Small "
        "models need higher rates than BERT's 2e-5 to 5e-5.",
        0,
        group="Training",
    )
    num_seeds: int = setting(
        3,
        "Number of seeds, --seed and those after it: another initial head, another order of the "
        "examples, other dropout.",
        1,
        1000,
    )
    num_train_epochs: int = setting(3, "Passes over the training examples in each run.", 1)
    train_batch_size: int = setting(32, "Examples in a training step.", 1)
    max_seq_length: int = setting(
        128,
        "Tokens of the longest input, boundary tokens included. Longer inputs are cut; of a pair, "
        "the longer text first. At most what the model takes.",
        4,
    )
    pooling: str | None = setting(
        None,
        "What the classifier reads of the encoder's outputs: that at the first token ([CLS]), that "
        "at the last one, or their mean over the text; of two texts, their means u and v with "
        "|u - v| and u * v. mix, as ELMo is used: the encoder is not trained; a bidirectional LSTM "
        "with max pooling reads a learned mix of its layers (try --learning_rates=1e-3). Default: "
        "first for a BERT with segments, mix for an ELMo, mean for others.",
        choices=POOLINGS,
    )
    lstm_size: int = setting(
        128, "For --pooling=mix: units of the LSTM in each direction.", 1, 10_000
    )
    warmup_proportion: float = setting(
        0.1, "Fraction of the steps, 0 to 1, over which the learning rate rises from 0.", 0, 0.999
    )
    seed: int = setting(0, SEED)
    mixed_precision: str = setting(
        "float32",
        "Type of matrix products in training; weights and sums stay float32, and so do the "
        "measured outputs. bfloat16 is faster on hardware that supports it, and several times "
        "slower on other hardware.",
        choices=PRECISIONS,
        alias="precision",
        group="Hardware",
    )

    def __post_init__(self):
        super().__post_init__()
        if len(set(self.learning_rates)) < len(self.learning_rates):
            raise InputError("learning_rates must name none twice")
        columns = self.text_columns
        if (columns is not None and len(set(columns)) != len(columns)) or len(columns or [""]) > 2:
            raise InputError(f"text_columns must be one or two, not {','.join(columns or [])!r}")
        if self.task is not None:
            named = ("text_columns", "label_column", "regression")
            self.refuse(named, "task, which names it")
        elif self.data_dir is not None:
            raise InputError("data_dir needs task")
        if self.data_dir is None and (self.train_file is None or self.dev_file is None):
            raise InputError("train_file and dev_file are required, or task and data_dir")
