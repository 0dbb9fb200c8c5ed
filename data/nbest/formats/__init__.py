"""File formats of N-best lists by name. A new format is one module here and one line below.

A file that matches no format is compared with them in this order, to name the nearest one: the
more specific formats come first.

Importing this module is cheap: flags use the names as choices.
"""

from typing import TYPE_CHECKING

from tta.registry import Registry

if TYPE_CHECKING:
    from tta.data.nbest.formats.base import Format

FORMATS = Registry(
    "format",
    {
        "espnet1": "tta.data.nbest.formats.documents.json_format:JsonFormat",
        "nemo": "tta.data.nbest.formats.documents.json_format:JsonFormat",
        "sockeye": "tta.data.nbest.formats.documents.json_format:JsonFormat",
        "responses": "tta.data.nbest.formats.documents.json_format:JsonFormat",
        "hyporadise": "tta.data.nbest.formats.documents.json_format:JsonFormat",
        "jsonl": "tta.data.nbest.formats.documents.json_format:JsonFormat",
        "json_rows": "tta.data.nbest.formats.named_rows:JsonRowsFormat",
        "dict": "tta.data.nbest.formats.documents.json_format:JsonFormat",
        "moses": "tta.data.nbest.formats.moses:MosesFormat",
        "fairseq": "tta.data.nbest.formats.fairseq:FairseqFormat",
        "csv": "tta.data.nbest.formats.named_rows:CsvFormat",
        "tsv": "tta.data.nbest.formats.tsv:TsvFormat",
        "espnet2": "tta.data.nbest.formats.espnet2:Espnet2Format",
        "kaldi": "tta.data.nbest.formats.kaldi:KaldiFormat",
        "srilm": "tta.data.nbest.formats.srilm:SrilmFormat",
        "plain": "tta.data.nbest.formats.plain:PlainFormat",
    },
)

# Their texts may have "[music]" as words.
TRANSLATIONS = ("moses", "fairseq", "sockeye")


def load_format(name: str) -> "Format":
    """The `Format` of that name. Raises `InputError` if there is none."""
    return FORMATS.load(name)(name)
