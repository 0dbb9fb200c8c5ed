"""Settings of tta reconstruct."""

from dataclasses import dataclass

from tta.choices import EngineName
from tta.scoring.engines.options import ENGINE
from tta.settings import COLUMN, FILES, OVERWRITE, SEED, Config, setting


@dataclass(frozen=True, kw_only=True)
class ReconstructConfig(Config):
    """Which texts are reconstructed, and where the result is written."""

    input_file: str = setting(
        ...,
        "Texts in UTF-8, one per line, that the model was not trained on: a file, plain, .gz, .bz2 "
        "or .xz; a folder or a glob; - is standard input. Blank lines are skipped.",
        group=FILES,
    )
    column: str | None = setting(None, COLUMN)
    output_file: str | None = setting(
        None,
        "Output file: a JSON object per text, with the text as the model reads it, its "
        "reconstruction and the part of the pieces that is right. A name that ends in .csv or .tsv "
        "gets a table.",
        writes=True,
    )
    num_passes: int = setting(
        1,
        "Passes of the decoder. Each one predicts the least certain tokens again. More than 1 only "
        "with a model whose config has decoder_input masked.",
        1,
    )
    max_texts: int | None = setting(
        None, "Measure only this many texts, the first ones. Default: all.", 1
    )
    engine: EngineName = setting("auto", ENGINE)
    overwrite: bool = setting(False, OVERWRITE)
    seed: int = setting(0, SEED)
