"""Settings of tta-adapt."""

from dataclasses import dataclass

from tta.settings import FILES, RAW_TEXT, SEED, Config, setting


@dataclass(frozen=True, kw_only=True)
class AdaptationConfig(Config):
    """To which text a model is adapted, and how long it is trained."""

    input_file: list[str] = setting(..., RAW_TEXT, group=FILES)
    output_dir: str = setting(
        ..., "Folder for the adapted model, new or empty. --model=FOLDER then loads it."
    )
    heldout_fraction: float = setting(
        0.1,
        "Fraction of the sentences, 0 to 1, to hold out. They decide when training stops, and must "
        "be at least 30. Copies of a sentence that differ only in case or punctuation are all "
        "held out, or all trained on.",
        0,
        1,
        group="Text",
    )
    spoken_fraction: float = setting(
        0.0,
        "Fraction of the sentences, 0 to 1, to convert to the output of a speech recogniser: "
        "lower-case letters and apostrophes. Use 1 if the text is written and the hypotheses have "
        "no punctuation. Sentences with digits stay unchanged.",
        0,
        1,
    )
    max_passes: int = setting(
        8,
        "Largest number of passes over the text. Training stops earlier if two passes in a row do "
        "not improve the held-out sentences. The weights of the best pass are kept.",
        1,
        group="Training",
    )
    learning_rate: float = setting(
        1e-3,
        "Highest learning rate. If the first pass makes the held-out sentences less likely, "
        "training starts again with a third of it, up to three times.",
        0,
    )
    seed: int = setting(0, SEED)
