"""File formats of N-best lists by name. A new format is one module here and one line below.

Importing this module is cheap: flags use the names as choices.
"""

from typing import TYPE_CHECKING

from tta.registry import Registry

if TYPE_CHECKING:
    from tta.data.nbest.formats.base import Format

FORMATS = Registry(
    "format",
    {
        "dict": "tta.data.nbest.formats.espnet_dict:DictFormat",
        "jsonl": "tta.data.nbest.formats.json_lines:JsonLinesFormat",
        "moses": "tta.data.nbest.formats.moses:MosesFormat",
        "kaldi": "tta.data.nbest.formats.kaldi:KaldiFormat",
        "hyporadise": "tta.data.nbest.formats.hyporadise:HyporadiseFormat",
        "tsv": "tta.data.nbest.formats.tsv:TsvFormat",
        "espnet1": "tta.data.nbest.formats.espnet1:Espnet1Format",
    },
)


def load_format(name: str) -> "Format":
    """The `Format` of that name. Raises `InputError` if there is none."""
    return FORMATS.load(name)(name)
