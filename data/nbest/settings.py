"""Settings of the commands that read N-best lists."""

from tta.data.nbest.formats import FORMATS
from tta.settings import Setting

FORMAT = Setting("Format of the N-best files. Default: detected from the content.", choices=FORMATS)
REFERENCES = Setting("References for --nbest_file: lines of `id words`, or one line per list.")
COSTS = Setting(
    "First-pass costs for --nbest_file in the kaldi format: `utt-N cost`, natural log, lower is "
    "better."
)
BEAM_SIZE = Setting(
    "Hypotheses per list in a tsv file of text<TAB>score, which does not mark where a list ends.", 1
)
