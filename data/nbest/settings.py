"""Settings of the commands that read N-best lists."""

from tta.choices import SCORE_KINDS
from tta.data.nbest.formats import FORMATS
from tta.settings import Setting

FORMAT = Setting("Format of the N-best files. Default: detected from the content.", choices=FORMATS)
REFERENCES = Setting(
    "References for --nbest_file: lines of `id words`, or one line per list; also sclite's trn, "
    "STM, SGML, icefall's recogs, JSON such as NeMo's manifests, and tables; a glob; or a folder "
    "of texts, whose stems are the ids. Repeat it for several references of each list (bleu, chrf, "
    "ter).",
    repeated=True,
)
SCORES = Setting(
    "What the first-pass scores are: log_probability (natural log, higher is better), cost (lower "
    "is better) or probability (0 to 1). Default: costs for the formats kaldi and sockeye, else "
    "log_probability; a note says if they look different.",
    choices=SCORE_KINDS,
)
KEEP_NON_WORDS = Setting(
    "Count words that are none, such as <eps>, !SIL, [noise] and ++BREATH++, as words. Default: "
    "hypotheses and references are read without them, and written back with them; for BLEU, and "
    "in the formats of translation without a named metric, they count."
)
COSTS = Setting(
    "First-pass costs for --nbest_file in the kaldi format: `utt-N cost`, natural log, lower is "
    "better. A glob names the files of one cost. Repeat it for costs apart, such as acoustic and "
    "graph costs: their sum is the first pass, and each is a feature named after its file, such as "
    "score_ac and score_lm for dev.ac and dev.lm",
    repeated=True,
)
SCORE_FIELD = Setting(
    "In JSON, the field of a hypothesis with its first-pass score, such as avg_logprob. Default: a "
    "name of docs/nbest.md."
)
TEXT_FIELD = Setting(
    "In JSON, the field of a hypothesis with its text, such as sentence_1; or a path to it, such "
    "as segments[].text, whose texts are joined. Default: a name of docs/nbest.md."
)
PARTIAL_REFERENCES = Setting(
    "Measure the lists that have a reference, and leave out the others, and the references without "
    "a list. Default: each list has a reference and each reference a list, or there are none."
)
BEAM_SIZE = Setting(
    "Hypotheses per list in a file that does not mark where a list ends: plain lines, or a tsv "
    "file of text<TAB>score.",
    1,
)
