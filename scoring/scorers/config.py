"""Settings of tta-score and tta-fit-pooling."""

from dataclasses import dataclass

from tta.settings import FILES, OVERWRITE, RAW_TEXT, SEED, Config, setting


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(Config):
    """Which sentences are scored, and what is written."""

    input_file: str = setting(
        ...,
        "Sentences to score in UTF-8, one per line. The file may be plain, .gz or .xz; - is "
        "standard input.",
        group=FILES,
    )
    output_file: str = setting(
        "-",
        "File for the scores, one JSON object per line, in the order of the input: score (natural "
        "log, the sum over the tokens, higher is better) and num_tokens. Compressed if the name "
        "ends in .gz or .xz; - is standard output.",
    )
    text: bool = setting(False, "Add the sentence to each line of the output, as `text`.")
    tokens: bool = setting(
        False,
        "Add the tokens and their log-probabilities to the output, as `tokens` and "
        "`log_probabilities`.",
    )
    overwrite: bool = setting(False, OVERWRITE)


@dataclass(frozen=True, kw_only=True)
class FitPoolingConfig(Config):
    """On which text the statistics of `sif` and `whitened` are fitted."""

    model: str = setting(..., "Model directory. Its pooling.npz is written.", once=True)
    input_file: list[str] = setting(..., RAW_TEXT)
    num_counted: int = setting(
        200_000,
        "Sentences, drawn uniformly, in which pieces are counted.",
        1,
        group="Sample",
    )
    num_whitening: int = setting(
        20_000,
        "Number of sentences, drawn uniformly, on whose piece vectors the whitening is fitted. "
        "They must have more pieces than the hidden size.",
        1,
    )
    seed: int = setting(0, SEED)
    overwrite: bool = setting(False, OVERWRITE)
