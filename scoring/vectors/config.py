"""Settings of tta-create-vectors."""

from dataclasses import dataclass

from tta.errors import InputError
from tta.settings import FILES, OVERWRITE, SEED, Config, setting

SOURCES = ("skip_gram", "token_table", "random")


@dataclass(frozen=True, kw_only=True)
class VectorsConfig(Config):
    """Which pieces get vectors, and where the vectors come from."""

    input_dir: str = setting(
        ...,
        "Data set that tta-create-tfrecords wrote. Each piece of its vocab.txt gets a vector.",
        group=FILES,
    )
    output_dir: str = setting(
        ..., "Folder for vocab.txt, README.md and, last, vectors.npy (float16)."
    )
    source: str = setting(
        "skip_gram",
        "skip_gram: train the vectors on the data set by skip-gram with negative sampling. It "
        "needs gensim: pip install 'tta-lm[vectors]'. A piece that does not occur gets zeros, and "
        "no model learns to predict it. token_table: the rows of --model's token table. random: "
        "random directions, a control experiment.",
        choices=SOURCES,
        group="Vectors",
    )
    model: str | None = setting(
        None,
        "For token_table: a model with the same vocabulary, named as in tta-score.",
        once=True,
    )
    size: int = setting(300, "Numbers in a vector, for skip_gram and random.", 1, 100_000)
    window: int = setting(5, "For skip_gram: the farthest context piece.", 1)
    num_epochs: int = setting(5, "For skip_gram: passes over the data set.", 1)
    num_workers: int = setting(
        1,
        "For skip_gram: threads. With more than one, the vectors differ from run to run.",
        1,
    )
    seed: int = setting(0, SEED)
    overwrite: bool = setting(False, OVERWRITE)

    def __post_init__(self):
        super().__post_init__()
        if (self.model is not None) != (self.source == "token_table"):
            raise InputError("source token_table needs a model, and no other source takes one")
