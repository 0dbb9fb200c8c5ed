"""Settings of tta-export."""

from dataclasses import dataclass

from tta.choices import REDUCTIONS
from tta.settings import FILES, MODEL, Config, setting


@dataclass(frozen=True, kw_only=True)
class ExportConfig(Config):
    """Where a served model is written, and how it reranks."""

    output_dir: str = setting(
        ...,
        "Folder to write: the model's name and a version number, as TF Serving expects, such as "
        "models/tta/1. The folder must not exist; a new model is a new version.",
        group=FILES,
    )
    reduction: str = setting(
        "sum",
        "How the signature `rerank` reduces the token scores of a hypothesis. Classifiers do not "
        "have it.",
        choices=REDUCTIONS,
        group=MODEL,
    )
