"""Settings of tta create-vectors."""

from dataclasses import dataclass

from tta.errors import InputError
from tta.settings import FILES, OVERWRITE, SEED, Config, setting

OF_A_MODEL = ("token_table", "whitened_token_table", "input_layer")
SOURCES = ("skip_gram", "fasttext", "svd", *OF_A_MODEL, "random")


@dataclass(frozen=True, kw_only=True)
class VectorsConfig(Config):
    """Which pieces or words get vectors, and where the vectors come from."""

    input_dir: str = setting(
        ...,
        "Data set that tta create-tfrecords wrote. Each piece or word of its vocab.txt gets a "
        "vector.",
        group=FILES,
    )
    output_dir: str = setting(
        ...,
        "Folder for vocab.txt, README.md and, last, vectors.npy (float16). For fasttext, also for "
        "ngrams.npy and ngrams.json, for input_layer for characters.safetensors, from which any "
        "other word gets a vector.",
        writes=True,
    )
    source: str = setting(
        "skip_gram",
        "skip_gram: train the vectors on the data set by skip-gram with negative sampling. It "
        "needs gensim: pip install '.[vectors]'. A piece that does not occur gets zeros, and "
        "no model learns to predict it. fasttext: for a data set of words, the mean of a word's "
        "own vector and those of its character n-grams, from --fasttext_file or trained on the "
        "data set; needs gensim. svd: truncated SVD of the shifted positive pointwise mutual "
        "information of the data set, which skip-gram factorizes implicitly. token_table: the rows "
        "of --model's token table. whitened_token_table: the same, decorrelated and of length 1, "
        "as with --pooling=whitened; needs tta fit-pooling. input_layer: what the input layer of "
        "--model, an ELMo, makes of each word; if it reads characters, its network is written too, "
        "and makes the vectors of all other words. random: random directions, a control "
        "experiment.",
        choices=SOURCES,
        group="Vectors",
    )
    model: str | None = setting(
        None,
        f"For {', '.join(OF_A_MODEL)}: a model with the same vocabulary, named as in tta score.",
    )
    fasttext_file: str | None = setting(
        None,
        "For fasttext: a binary file (.bin) of Facebook's fastText to read instead of training.",
    )
    size: int = setting(
        300,
        "Dimensions of a vector, for skip_gram, fasttext without a file, svd, and random.",
        1,
        100_000,
    )
    num_buckets: int = setting(
        100_000, "For fasttext without a file: vectors of n-grams, which share them by a hash.", 1
    )
    window: int = setting(
        5, "For skip_gram, fasttext and svd: the farthest context piece or word.", 1
    )
    num_negatives: float = setting(
        5.0,
        "For svd: the number k whose logarithm is subtracted from the mutual information; it "
        "corresponds to k negative samples of skip-gram.",
        1.0,
    )
    num_epochs: int = setting(5, "For skip_gram and fasttext: passes over the data set.", 1)
    num_workers: int = setting(
        1,
        "For skip_gram and fasttext: threads. With more than one, the vectors differ from run to "
        "run.",
        1,
    )
    whiten: bool = setting(
        False,
        "For fasttext, and svd of words: centre the vectors, and scale them to equal variance in "
        "all directions, over the words of the text. Without it, one direction is common to all "
        "words, and a SemFit model learns it first.",
    )
    seed: int = setting(0, SEED)
    overwrite: bool = setting(False, OVERWRITE)

    def __post_init__(self):
        super().__post_init__()
        if (self.model is not None) != (self.source in OF_A_MODEL):
            sources = ", ".join(OF_A_MODEL)
            raise InputError(f"sources {sources} need a model, and no other source takes one")
        if self.fasttext_file is not None and self.source != "fasttext":
            raise InputError(f"fasttext_file needs source fasttext, not {self.source}")
        if self.whiten and self.source not in ("fasttext", "svd"):
            raise InputError(f"whiten needs source fasttext or svd, not {self.source}")
