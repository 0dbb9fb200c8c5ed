"""Settings of run_rerank.py and tta-beam-score."""

from dataclasses import dataclass

from tta.choices import REDUCTIONS
from tta.data.nbest.formats import FORMATS
from tta.errors import InputError
from tta.scoring.combining.weights import split_lm_weights
from tta.scoring.metrics.metric import BLEU_TOKENIZERS, METRICS
from tta.scoring.metrics.normalization import NORMALIZATIONS
from tta.settings import FILES, OVERWRITE, Config, Setting, setting

# Suffix of a curve file -> the packages that write it.
CURVE_FORMATS = {".png": ("matplotlib",), ".svg": ("matplotlib",), ".tsv": ()}

_FORMAT = Setting(
    "Format of the N-best files. Default: detected from the content.", choices=FORMATS
)
_BEAM_SIZE = Setting(
    "Hypotheses per list in a tsv file of text<TAB>score, which does not mark where a list ends.", 1
)
_REDUCTION = "The language model's score is the sum or the mean of its token scores."


@dataclass(frozen=True, kw_only=True)
class RerankConfig(Config):
    """Which lists are reranked, how scores are combined, and what is written."""

    nbest_file: str = setting(
        ...,
        "N-best lists to rerank. Files may be .gz or .xz; - is standard input.",
        group=FILES,
    )
    dev_nbest_file: str | None = setting(
        None,
        "N-best lists with references. lm_weight, length_bonus and reduction are tuned on them "
        "unless given.",
    )
    format: str | None = setting(None, _FORMAT)
    reference_file: str | None = setting(
        None, "References for --nbest_file: lines of `id words`, or one line per list."
    )
    dev_reference_file: str | None = setting(None, "As --reference_file, for --dev_nbest_file.")
    score_file: str | None = setting(
        None,
        "First-pass costs for --nbest_file in the kaldi format: `utt-N cost`, natural log, lower "
        "is better.",
    )
    dev_score_file: str | None = setting(None, "As --score_file, for --dev_nbest_file.")
    beam_size: int | None = setting(None, _BEAM_SIZE)
    rank_scores: bool = setting(
        False,
        "For lists without first-pass scores, ordered best first: use -ln(rank) as the score, so "
        "that the order counts. Without this flag, the language model alone reranks such lists.",
    )
    lm_weight: list[float] | None = setting(
        None,
        "Weight w of the language model, 0 to 1: (1 - w) * first pass + w * language model. For "
        "several models, one weight per model, comma-separated, with a sum of at most 1. Default: "
        "all weights are tuned together on --dev_nbest_file. Without that file, they are guessed "
        "from the scale of the scores, and the output says so.",
        group="Weights",
    )
    length_bonus: float | None = setting(
        None,
        "Added to the score per word, natural log; may be negative. 0 is the paper's formula, "
        "which favours short hypotheses if the reduction is sum.",
    )
    reduction: str | None = setting(None, _REDUCTION, choices=REDUCTIONS)
    metric: str = setting(
        "auto",
        "Measured on lists with references. wer: word error rate in percent, with the character "
        "error rate beside it. bleu: corpus BLEU. auto: bleu for the moses format, else wer.",
        choices=("auto", *METRICS, "none"),
        group="Metric",
    )
    normalize: str = setting(
        "none",
        "How wer reads hypotheses and references; the texts in the output files stay unchanged. "
        "none: as they are, so case and punctuation count. lower: in lower case. basic: in lower "
        "case, with blanks in place of punctuation and symbols (apostrophes inside words stay), "
        "after Unicode's NFKC.",
        choices=NORMALIZATIONS,
    )
    bleu_tokenize: str = setting(
        "13a",
        "sacrebleu's tokenizer. Use none for text that is already tokenised.",
        choices=BLEU_TOKENIZERS,
    )
    output_file: str | None = setting(
        None,
        "File for the reranked lists in the format of the input, best first, with the combined "
        "score; - is standard output (the report then goes to standard error). In the kaldi "
        "format, the costs go to the same name with .scores appended.",
        group=FILES,
    )
    scores_file: str | None = setting(
        None,
        "File for the scores as JSON lines: id, text, first_pass_score, lm_score, num_tokens, "
        "combined; natural log, higher is better. With several models, lm_score is the mixture's, "
        "and `models` has the lm_score and num_tokens of each model.",
    )
    curve_file: str | None = setting(
        None,
        "File for the curve of the error on --dev_nbest_file against lm_weight: .png or .svg "
        "(needs matplotlib) or .tsv. There is one line per model; other weights stay as tuned.",
    )
    report: str | None = setting(
        None,
        "File for the report as one self-contained .html page: the table, the curve, and the "
        "utterances whose best hypothesis changed, with every token coloured by its "
        "log-probability (needs jinja2 and matplotlib); - is standard output.",
    )
    overwrite: bool = setting(False, OVERWRITE)

    def __post_init__(self):
        super().__post_init__()
        for name in ("dev_reference_file", "dev_score_file", "curve_file"):
            if getattr(self, name) is not None and self.dev_nbest_file is None:
                raise InputError(f"{name} needs dev_nbest_file")
        split_lm_weights(self.lm_weight, len(self.lm_weight or ()))  # checks their values
        if self.normalize != "none" and self.metric not in ("auto", "wer"):
            raise InputError(f"normalize={self.normalize} is for the metric wer, not {self.metric}")
        if self.metric == "none" and self.dev_nbest_file is not None:
            raise InputError("tuning on dev_nbest_file needs a metric, not none")
        if self.curve_file is not None and not self.curve_file.endswith(tuple(CURVE_FORMATS)):
            raise InputError(
                f"curve_file must end in {', '.join(CURVE_FORMATS)}, not {self.curve_file!r}"
            )


@dataclass(frozen=True, kw_only=True)
class BeamScoreConfig(Config):
    """Which lists are scored on Apache Beam, and where the scores go."""

    nbest_file: list[str] = setting(
        ...,
        "N-best lists to score: comma-separated paths or globs. Files may be plain, .gz or .xz. "
        "Each file is read by one worker: jsonl list by list, other formats as a whole.",
        group=FILES,
    )
    output_dir: str = setting(
        ...,
        "Folder for scores-00000-of-00016.jsonl and so on and, written last, scores.json with the "
        "signature and counts. The rows are those of run_rerank.py --scores_file, natural log, "
        "each with the name of its file. The engine decides the order of the lists.",
    )
    format: str | None = setting(None, _FORMAT)
    beam_size: int | None = setting(None, _BEAM_SIZE)
    num_shards: int = setting(0, "Number of files to write. 0: the engine decides.", 0, 99_999)
    lm_weight: float = setting(
        1.0,
        "Weight w of the language model in `combined`, (1 - w) * first pass + w * language model, "
        "such as run_rerank.py tuned on a dev file. The rows have both scores in any case.",
        0,
        1,
        group="Weights",
    )
    length_bonus: float = setting(0.0, "Added to `combined` per word, natural log.")
    reduction: str = setting("sum", _REDUCTION, choices=REDUCTIONS)
    overwrite: bool = setting(False, OVERWRITE)
