"""Settings of tta probe."""

from dataclasses import dataclass

from tta.choices import SENTENCE_POOLINGS
from tta.errors import InputError
from tta.settings import FILES, SEED, Config, setting

MIX = "mix"
FEATURES = ("vectors", MIX)
OF_THE_MIX = ("lstm_size", "learning_rate", "num_train_epochs", "train_batch_size")


@dataclass(frozen=True, kw_only=True)
class ProbeConfig(Config):
    """Which labelled examples are probed, with which vectors, and how."""

    data_file: str = setting(
        ...,
        "Labelled sentences or sentence pairs in UTF-8, columns separated by tabs, or by commas "
        "(csv) if the header has no tab, with a header: comma-separated paths, folders or globs. "
        "Without --test_file, they are cross-validated; with it, this is the training part. Files "
        "may be plain, .gz, .bz2 or .xz.",
    )
    test_file: str | None = setting(
        None,
        "The part that is measured, in the layout of --data_file.",
        group=FILES,
    )
    dev_file: str | None = setting(
        None,
        "The part on which C is chosen. Default: it is chosen by cross-validation of --data_file.",
    )
    text_columns: list[str] | None = setting(
        None,
        "Names of the columns of the texts: one for sentences, two for pairs. Default: "
        "sentence1,sentence2 if the header has both, else sentence.",
        distinct=True,
    )
    label_column: str = setting("label", "Name of the column of the label.")
    ner: bool = setting(
        False,
        "Probe named entities: the files have a token and its IOB2 tag per line and a blank line "
        "between sentences (CoNLL). Measures the F1 of entities. Needs --test_file.",
    )
    features: str = setting(
        "vectors",
        "vectors: what a logistic regression reads off --representation. mix: what a model of the "
        "task reads off all layers, with a learned mix of them, as ELMo is used: a bidirectional "
        "LSTM, with a CRF for --ner, and with max pooling for labels. Slower.",
        choices=FEATURES,
        group="Vectors",
    )
    representation: list[str] | None = setting(
        None,
        "Vectors to probe, comma-separated, as for tta sts: context, embed, token, cls, eos. With "
        "a plus sign, as in embed+context, vectors are joined. Default: the model's first.",
        distinct=True,
    )
    pooling: list[str] = setting(
        ["mean"],
        "How the vectors of pieces become the vector of a sentence, comma-separated, as for "
        "tta sts. With --ner, the vector of a word is the mean over its pieces.",
        choices=SENTENCE_POOLINGS,
        distinct=True,
    )
    num_folds: int = setting(
        10,
        "Folds of each cross-validation, of the data and of the choice of C.",
        2,
        1000,
        group="Protocol",
    )
    num_seeds: int = setting(3, "Number of seeds, --seed and those after it: other folds.", 1, 1000)
    lstm_size: int = setting(
        128, "Units of the LSTM in each direction.", 1, 10_000, group="Task model (features=mix)"
    )
    learning_rate: float = setting(1e-3, "Adam's learning rate.", 0)
    num_train_epochs: int = setting(
        10,
        "Most passes over the training part. The weights of the best one on --dev_file, or on a "
        "fold of the training part, are kept.",
        1,
    )
    train_batch_size: int = setting(32, "Examples in a training step.", 1)
    seed: int = setting(0, SEED)

    def __post_init__(self):
        super().__post_init__()
        if self.dev_file is not None and self.test_file is None:
            raise InputError("dev_file needs test_file")
        if self.text_columns is not None and len(self.text_columns) > 2:
            raise InputError(f"text_columns must be one or two, not {len(self.text_columns)}")
        if self.features == MIX:
            self.refuse(("representation", "pooling"), "features=mix")
        else:
            self.refuse(OF_THE_MIX, "features=vectors")
        if self.ner:
            if self.test_file is None:
                raise InputError("ner needs test_file")
            self.refuse(("text_columns", "label_column", "pooling"), "ner")
