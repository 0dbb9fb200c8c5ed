"""Settings of tta adapt."""

from dataclasses import dataclass

from tta.data.nbest.settings import (
    BEAM_SIZE,
    COSTS,
    FORMAT,
    KEEP_NON_WORDS,
    REFERENCES,
    SCORE_FIELD,
    SCORES,
    TEXT_FIELD,
)
from tta.errors import InputError
from tta.scoring.metrics.normalization import METRIC_NORMALIZATIONS
from tta.settings import FILES, RAW_TEXT, SEED, Config, setting


@dataclass(frozen=True)
class Schedule:
    """How much of the text or of the lists is held out, and how long the model is trained.

    The attributes are the settings of `AdaptationConfig` with the same names.
    """

    heldout_fraction: float
    max_passes: int
    learning_rate: float


@dataclass(frozen=True, kw_only=True)
class AdaptationConfig(Config):
    """To which text or lists a model is adapted, and how long it is trained."""

    input_file: list[str] | None = setting(None, RAW_TEXT, group=FILES)
    nbest_file: list[str] | str | None = setting(
        None,
        "N-best lists with references. The model is fine-tuned on them, so that it makes "
        "hypotheses with few word errors probable. Files may be .gz or .xz; - is standard input. "
        "For several files, repeat it, or name a glob. Or a folder, as for tta rerank. With "
        "--input_file, the model is adapted to the text first.",
        repeated=True,
    )
    format: str | None = setting(None, FORMAT)
    reference_file: list[str] | str | None = setting(None, REFERENCES)
    score_file: list[str] | str | None = setting(None, COSTS)
    beam_size: int | None = setting(None, BEAM_SIZE)
    scores: str | None = setting(None, SCORES)
    score_field: str | None = setting(None, SCORE_FIELD)
    text_field: str | None = setting(None, TEXT_FIELD)
    keep_non_words: bool = setting(False, KEEP_NON_WORDS)
    output_dir: str = setting(
        ..., "Folder for the adapted model, new or empty. --model=FOLDER then loads it."
    )
    heldout_fraction: float | None = setting(
        None,
        "Fraction of the sentences or of the different references of the lists, 0 to 1, to hold "
        "out. They decide when training stops. At least 30 sentences or lists must be held out. "
        "Copies of a sentence that differ only in case or punctuation are all held out, or all "
        "trained on. The held-out lists are written to heldout.jsonl in the output folder. "
        "Default: 0.1 of the sentences, a third of the references.",
        0,
        1,
        group="Text and lists",
    )
    spoken_fraction: float = setting(
        0.0,
        "Fraction of the sentences, 0 to 1, to convert to the output of a speech recogniser: "
        "lower-case letters and apostrophes. Use 1 if the text is written and the hypotheses have "
        "no punctuation. Sentences with digits stay unchanged.",
        0,
        1,
    )
    normalize: str = setting(
        "none",
        "How word errors are counted in the lists, as --normalize of run_rerank.py.",
        choices=METRIC_NORMALIZATIONS,
    )
    max_passes: int | None = setting(
        None,
        "Largest number of passes over the text or the lists. Training stops earlier if two passes "
        "in a row do not improve the held-out part. The weights of the best pass are kept. "
        "Default: 8 for text, 4 for lists.",
        1,
        group="Training",
    )
    learning_rate: float | None = setting(
        None,
        "Highest learning rate. If the first pass makes the held-out part worse, training starts "
        "again with a third of it, up to three times. Default: 0.001 for text, 0.0001 for lists.",
        0,
    )
    seed: int = setting(0, SEED)

    def __post_init__(self):
        super().__post_init__()
        if self.input_file is None and self.nbest_file is None:
            raise InputError("input_file or nbest_file is required")
        of_lists = ("format", "reference_file", "score_file", "beam_size")
        for name in (*of_lists, "score_field", "text_field"):
            if getattr(self, name) is not None and self.nbest_file is None:
                raise InputError(f"{name} needs nbest_file")

    @property
    def text_schedule(self) -> Schedule:
        """The schedule of training on text."""
        return self._schedule(Schedule(heldout_fraction=0.1, max_passes=8, learning_rate=1e-3))

    @property
    def list_schedule(self) -> Schedule:
        """The schedule of fine-tuning on lists."""
        return self._schedule(Schedule(heldout_fraction=1 / 3, max_passes=4, learning_rate=1e-4))

    def _schedule(self, default):
        values = {name: getattr(self, name) for name in vars(default)}
        return Schedule(**vars(default) | {n: v for n, v in values.items() if v is not None})
