"""The models of benchmarks/semfit/quality.py: what each reads, predicts and is trained with."""

from dataclasses import dataclass, field

PIECES, WORDS = "pieces", "words"

# Source of vectors -> (data set, flags of tta create-vectors; a name in braces is a trained row).
VECTORS = {
    "skip_gram": (PIECES, ["--source=skip_gram", "--size=300"]),
    "token_table": (PIECES, ["--source=token_table", "--model=small"]),
    "whitened_token_table": (PIECES, ["--source=whitened_token_table", "--model=small"]),
    "random": (PIECES, ["--source=random", "--size=300"]),
    "fasttext": (
        WORDS,
        ["--source=fasttext", "--size=200", "--num_buckets=30000", "--num_epochs=10", "--whiten"],
    ),
    "svd": (WORDS, ["--source=svd", "--size=200", "--whiten"]),
    "elmo_cnn": (WORDS, ["--source=input_layer", "--model={ELMo}"]),
}


@dataclass(frozen=True)
class Row:
    """A model that is trained.

    Attributes:
        name: the name of its row.
        data: PIECES or WORDS.
        config: a file of configs/.
        vectors: a key of `VECTORS`, or None.
        flags: further flags of run_pretraining.py.
        representations: its sentence vectors.
    """

    name: str
    data: str
    config: str
    vectors: str | None = None
    flags: list = field(default_factory=list)
    representations: tuple = ("context",)


def _tta(name, flags, vectors=None):
    common = ["--train_batch_tokens=4096", "--optimizer=muon", "--learning_rate=0.003"]
    representations = ("context", "fit") if vectors else ("context",)
    return Row(name, PIECES, "small", vectors, common + flags, representations)


def _semfit(distance, vectors):
    flags = ["--output_layer=semfit", f"--semfit_distance={distance}"]
    return _tta(f"T-TA SemFit {distance}, {vectors}", flags, vectors)


def _elmo(name, config, data=WORDS, vectors=None, *flags):
    common = ["--objective=bidirectional_clm", "--train_batch_tokens=2048"]
    common += ["--optimizer=muon", "--learning_rate=0.01", "--adam_beta_2=0.98", *flags]
    # What users of ELMo read; its other vectors are worse (docs/semfit.md).
    return Row(name, data, config, vectors, common, ("layers",))


ROWS = (
    _tta("T-TA full softmax", []),
    _tta("T-TA sampled softmax", ["--num_sampled_pieces=3072"]),
    _semfit("cosine", "skip_gram"),
    _semfit("l2", "skip_gram"),
    _semfit("vmf", "skip_gram"),
    _semfit("cosine", "token_table"),
    _semfit("cosine", "whitened_token_table"),
    _semfit("cosine", "random"),
    _elmo("ELMo", "elmo-small", WORDS, None, "--num_sampled_pieces=8192", "--sampling=candidates"),
    _elmo("ELMo-A", "elmo-a-small", WORDS, "fasttext"),
    _elmo("ELMo-S_ONEB", "elmo-s-small", WORDS, "fasttext"),
    _elmo("ELMo-S_SVD", "elmo-s-small", WORDS, "svd"),
    _elmo("ELMo-S_CNN", "elmo-s-small", WORDS, "elmo_cnn"),
    _elmo("ELMo-Sub", "elmo-sub-small", PIECES, None),
)

# Rows of the paper that cannot be trained here, and why.
NOT_MEASURED = {
    "ELMo-S": "the vectors that fastText's authors trained on Common Crawl are not available here",
}
