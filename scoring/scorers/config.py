"""Settings of tta score, tta fit-pooling and tta calibrate."""

from dataclasses import dataclass

from tta.errors import InputError
from tta.settings import COLUMN, FILES, OVERWRITE, RAW_TEXT, SEED, Config, setting

# Minimal pairs are grouped by the first of these fields that they have: the names in BLiMP.
PAIR_GROUPS = ("UID", "linguistics_term", "field")
# The settings that say what is in a row of scores.
ROW_FIELDS = ("text", "perplexity", "tokens", "words", "split_punctuation")


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(Config):
    """Which sentences or minimal pairs are scored, and what is written."""

    input_file: str | None = setting(
        None,
        "Sentences to score in UTF-8, one per line: a file, plain, .gz, .bz2 or .xz; a folder or a "
        "glob, whose files are read one after another; - is standard input. Of a folder with .txt "
        "files only these are read, and the rows name their `file`. Parquet, too. "
        "Default: -, unless there are texts or pairs.",
        group=FILES,
    )
    texts: list[str] | None = setting(
        None,
        "Sentences to score, in place of a file: tta score 'the cat sat' 'a dog'.",
        repeated=True,
        bare=True,
    )
    column: str | None = setting(None, COLUMN)
    pairs: list[str] | None = setting(
        None,
        "Minimal pairs, to measure how often the good sentence has the higher score: "
        "comma-separated paths, folders or globs. Files may be plain, .gz, .bz2 or .xz; - is "
        "standard input. They have JSON lines with sentence_good and sentence_bad, as in BLiMP; or "
        "two columns (good, bad) separated by a tab; or a header with both names, also as csv.",
    )
    group_by: str | None = setting(
        None,
        "Field of the pairs, such as linguistics_term. The accuracy is printed for each of its "
        f"values. Default: the first of {', '.join(PAIR_GROUPS)} that the pairs have.",
    )
    output_file: str | None = setting(
        None,
        "File for the scores, natural log, the sum over the tokens, higher is better. One JSON "
        "object per sentence, in the order of the input, with score and num_tokens; or one per "
        "pair, with score_good, score_bad, difference and correct. A name that ends in .csv or "
        ".tsv gets a table, one in .parquet has the other columns of a Parquet input. Compressed "
        "if .gz, .bz2 or .xz follows; - is standard output. Default: - for sentences, none for "
        "pairs.",
        writes=True,
    )
    resume: bool = setting(
        False,
        "Go on with what an interrupted run of the same command has done, "
        "`.OUTPUT_FILE.unfinished`, if it is there. The output is that of one run, byte for byte.",
    )
    text: bool = setting(
        False,
        "Add the sentence to each line of the output, as `text`; for pairs, as `sentence_good` and "
        "`sentence_bad`.",
    )
    perplexity: bool = setting(
        False,
        "Add the perplexity per token of each sentence, as `perplexity`; null, or an empty cell, "
        "if there is no token or if it is above 1.798e308. Needs --normalizer=exact. Not for "
        "pairs.",
    )
    tokens: bool = setting(
        False,
        "Add the tokens and their log-probabilities to the output, as `tokens` and "
        "`log_probabilities`. Not for pairs.",
    )
    words: bool = setting(
        False,
        "Add the words, as they stand between blanks, and the sums over their tokens to the "
        "output, as `words` and `word_log_probabilities`; a table (.csv, .tsv) gets a row for each "
        "word, with the other columns of the input. Not for pairs.",
    )
    split_punctuation: bool = setting(
        False, "With --words, punctuation before and after a word is a word of its own."
    )
    unit: str = setting(
        "nats",
        "nats: natural logs, higher is better. bits: log2(1/p), lower is more expected, as "
        "`surprisal`, `surprisals` and `word_surprisals`. Not for pairs.",
        choices=("nats", "bits"),
    )
    overwrite: bool = setting(False, OVERWRITE)

    def __post_init__(self):
        super().__post_init__()
        inputs = [
            name for name in ("input_file", "texts", "pairs") if getattr(self, name) is not None
        ]
        if len(inputs) > 1:
            raise InputError(f"{' and '.join(inputs)} cannot be combined")
        if self.pairs is None and self.group_by is not None:
            raise InputError("group_by needs pairs")
        if self.input_file is None and inputs and self.column is not None:
            raise InputError(f"column needs input_file, not {inputs[0]}")
        for name in ("input_file", "output_file") if self.resume else ():
            if getattr(self, name) in (None, "-"):
                raise InputError(f"resume needs {name}, a file")
        if self.split_punctuation and not self.words:
            raise InputError("split_punctuation needs words")
        for name in (*ROW_FIELDS[1:], *(["unit"] if self.unit != "nats" else [])):
            if self.pairs is not None and getattr(self, name):
                raise InputError(f"{name} needs input_file, not pairs")

    @property
    def written(self) -> str:
        """The file that is written, or - for standard output."""
        return self.output_file or "-"


@dataclass(frozen=True, kw_only=True)
class CalibrateConfig(Config):
    """On which text a model is calibrated."""

    model: str = setting(..., "Model directory, or a name. Its light.safetensors is written anew.")
    input_file: list[str] = setting(..., RAW_TEXT)
    seed: int = setting(0, SEED, group="Sample")


@dataclass(frozen=True, kw_only=True)
class FitPoolingConfig(Config):
    """On which text the statistics of `sif` and `whitened` are fitted."""

    model: str = setting(..., "Model directory. Its pooling.npz is written.")
    input_file: list[str] = setting(..., RAW_TEXT)
    seed: int = setting(0, SEED, group="Sample")
    overwrite: bool = setting(False, OVERWRITE)
