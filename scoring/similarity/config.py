"""Settings of run_sts.py."""

from dataclasses import dataclass

from tta.choices import SENTENCE_POOLINGS
from tta.settings import FILES, OVERWRITE, Config, setting


@dataclass(frozen=True, kw_only=True)
class StsConfig(Config):
    """Which sentence pairs are compared, and by which vectors."""

    sts_file: list[str] = setting(
        ...,
        "Sentence pairs: comma-separated paths, folders or globs; - is standard input. Columns are "
        "separated by tabs or commas: sentence, sentence and perhaps a gold score; or as a header "
        "names them; or as in STS-B or SICK.",
        group=FILES,
    )
    representation: list[str] | None = setting(
        None,
        "What is compared, comma-separated. context: mean of the last layer's outputs. "
        "embed: mean of the embedding layer's outputs, or of word vectors. token: mean of the "
        "pieces' rows in the token table. fit: mean of the vectors that a SemFit model predicts "
        "for the pieces. cls and eos: the last layer's output at the begin or end token. joint: "
        "whitened token rows and outputs side by side; it needs pooling.npz, and --pooling=mean. "
        "aligned and alignment, which need the same: no vectors; each word is compared with its "
        "nearest in the other sentence, and aligned adds the cosine of the means of all words. "
        "Default: the model's first, which is context for language models and embed for word "
        "vectors.",
        distinct=True,
        group="Vectors",
    )
    pooling: list[str] = setting(
        ["mean"],
        "How the vectors of pieces become the vector of a sentence, comma-separated. mean: as in "
        "the paper. sif: rare pieces count more. whitened: sif of piece vectors that are whitened "
        "and scaled to length 1. sif and whitened need pooling.npz in the model directory "
        "(tta fit-pooling).",
        choices=SENTENCE_POOLINGS,
        distinct=True,
    )
    output_file: str | None = setting(
        None,
        "File for the similarity of each pair, tab-separated with a header, or csv if the name "
        "ends in .csv; - is standard output (the report then goes to standard error). Default: "
        "none, or - if a file has no gold scores.",
        group=FILES,
        writes=True,
    )
    overwrite: bool = setting(False, OVERWRITE)
