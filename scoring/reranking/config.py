"""Settings of run_rerank.py."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tta.choices import DECISIONS, REDUCTIONS
from tta.data.nbest.lists import parse_score
from tta.data.nbest.settings import (
    BEAM_SIZE,
    COSTS,
    FORMAT,
    KEEP_NON_WORDS,
    PARTIAL_REFERENCES,
    REFERENCES,
    SCORE_FIELD,
    SCORES,
    TEXT_FIELD,
)
from tta.errors import InputError
from tta.scoring.combining.weights import (
    EVERY_FEATURE,
    PHRASES,
    FixedWeights,
    split_lm_weights,
)
from tta.scoring.metrics.metric import BLEU_TOKENIZERS, METRICS, load_metric
from tta.scoring.metrics.normalization import METRIC_NORMALIZATIONS
from tta.settings import FILES, MODEL, OVERWRITE, Config, Setting, setting

if TYPE_CHECKING:
    from tta.scoring.words.confidence import ConfidenceWeights

# Suffix of a curve file -> the packages that write it.
_NOT_HTML = (".txt", ".md", ".csv", ".tsv", ".json", ".jsonl", ".pdf")
CURVE_FORMATS = {".png": ("matplotlib",), ".svg": ("matplotlib",), ".tsv": ()}

PHRASES_FILE = Setting(
    "File of names, terms and other phrases that are known: one per line, read as hypotheses are. "
    "`phrase<TAB>factor` multiplies its weight. Hypotheses with phrases are preferred, as far "
    "as the lists show that the phrases are spoken (docs/phrases.md). Phrases of one common word "
    "are left out, unless they have a factor."
)
PHRASES_WEIGHT = Setting(
    "Weight of a word of a phrase, in standard deviations of the first pass. Default: 0 to 4, by "
    "the share of the phrases in the lists that is believed without them.",
    0,
    100,
)
_REDUCTION = "The language model's score is the sum or the mean of its token scores."


@dataclass(frozen=True, kw_only=True)
class RescoreConfig(Config):
    """Whether a second model scores the probable hypotheses."""

    rescore_model: str | None = setting(
        None,
        "A larger model, as --model, which scores only the hypotheses that --model finds probable; "
        "the scores of the others are estimated (docs/levels.md).",
        group=MODEL,
    )
    rescore_share: float = setting(
        0.02,
        "It scores hypotheses whose posterior is at least this share of the highest in their list, "
        "and at least three, unless rescore_best is lower.",
        0,
        1,
    )
    rescore_best: int = setting(12, "The most hypotheses of a list that it scores.", 1)

    def __post_init__(self):
        super().__post_init__()
        for name in ("rescore_share", "rescore_best"):
            if self.rescore_model is None and getattr(self, name) != getattr(type(self), name):
                raise InputError(f"{name} needs rescore_model")

    def with_levels(self, models: Sequence[Any]) -> list[Any]:
        """The models; or one model and the second one as `Levels`, else InputError."""
        if self.rescore_model is None:
            return list(models)
        if len(models) != 1:
            raise InputError(f"rescore_model needs one --model for all texts, not {len(models)}")
        from tta.scoring.combining.levels import Levels

        limits = {"share": self.rescore_share, "best": self.rescore_best}
        return [Levels(models[0], self.rescore_model, **limits)]


@dataclass(frozen=True, kw_only=True)
class RerankConfig(RescoreConfig):
    """Which lists are reranked, how scores are combined, and what is written."""

    nbest_file: list[str] | str = setting(
        ...,
        "N-best lists to rerank. Files may be .gz or .xz; - is standard input. For several files, "
        "repeat it, or name a glob, such as 'exp/*/text'; they are written as one, but responses "
        "and SRILM's lists as a folder. Or a folder: of ESPnet 2, of responses, of SRILM's lists.",
        repeated=True,
        group=FILES,
    )
    dev_nbest_file: list[str] | str | None = setting(
        None,
        "N-best lists with references, as --nbest_file. The decision and the weights are tuned on "
        "them unless given.",
        repeated=True,
    )
    format: str | None = setting(None, FORMAT)
    reference_file: list[str] | str | None = setting(None, REFERENCES)
    dev_reference_file: list[str] | str | None = setting(
        None, "As --reference_file, for --dev_nbest_file.", repeated=True
    )
    partial_references: bool = setting(False, PARTIAL_REFERENCES)
    score_file: list[str] | str | None = setting(None, COSTS)
    dev_score_file: list[str] | str | None = setting(
        None, "As --score_file, for --dev_nbest_file.", repeated=True
    )
    beam_size: int | None = setting(None, BEAM_SIZE)
    scores: str | None = setting(None, SCORES)
    score_field: str | None = setting(None, SCORE_FIELD)
    text_field: str | None = setting(None, TEXT_FIELD)
    keep_non_words: bool = setting(False, KEEP_NON_WORDS)
    rank_scores: bool = setting(
        True,
        "For lists without first-pass scores: -ln(rank in the list) is the score, because lists "
        "are usually ordered best first. With --norank_scores the order does not count.",
    )
    decision: str | None = setting(
        None,
        "max: pick the hypothesis with the highest combined score. mbr (minimum Bayes risk): pick "
        "the one with the lowest expected loss, where the probability of each hypothesis is "
        "softmax(scale * combined score) over its list. The loss is the number of word errors, of "
        "character errors if the metric is cer, or 1 - chrF for bleu, chrf and ter. Default: mbr, "
        "or max if the lists are too long to compare all pairs of hypotheses.",
        choices=DECISIONS,
        group="Weights",
    )
    scale: float | None = setting(
        None,
        "Factor on the combined scores before the softmax (implies --decision=mbr). Default: "
        "tuned, or estimated without dev lists.",
        0,
    )
    lm_weight: list[float] | None = setting(
        None,
        "Weight w of the language model, 0 to 1: (1 - w) * first pass + w * language model. For "
        "several models, one weight per model, comma-separated, with a sum of at most 1. Default: "
        "all weights are tuned together on --dev_nbest_file. Without that file, they are guessed "
        "from the scale of the scores, and the output says so.",
    )
    length_bonus: float | None = setting(
        None,
        "Added to the score per word, natural log; may be negative. 0 is the paper's formula, "
        "which favours short hypotheses if the reduction is sum.",
    )
    reduction: str | None = setting(None, _REDUCTION, choices=REDUCTIONS)
    features: list[str] | None = setting(
        None,
        "Further first-pass scores to use, comma-separated, each as name or name=weight. A weight "
        "is relative to the first pass, and may be negative. Names without a weight are tuned on "
        "--dev_nbest_file. rank is -ln(rank in the list). For WER and CER, characters is the "
        "length of the text; distance is minus its mean distance to the texts of the list, in "
        "characters; weighted_distance is the same, weighted by the first pass. Default: all that "
        "every hypothesis has; without dev lists, distance. --features= uses none.",
    )
    phrases_file: str | None = setting(None, PHRASES_FILE)
    phrases_weight: float | None = setting(None, PHRASES_WEIGHT)
    phrases_candidates: str | None = setting(
        None,
        "For lists of at most ten hypotheses: words that are spelled like a phrase become the "
        "phrase, in new hypotheses that are judged as the others are. judged: they are in the "
        "scores file and the report. written: in the output file, too. Default: there are none.",
        choices=("judged", "written"),
    )
    metric: str = setting(
        "auto",
        "Metric reported when there are references; with mbr, its loss also picks the hypothesis. "
        "wer: word error rate in percent, with the character error rate beside it. cer: character "
        "error rate in percent, for scripts without blanks. bleu, chrf, ter: sacrebleu's corpus "
        "BLEU, chrF2 and translation edit rate. auto: bleu for moses and fairseq, else wer.",
        choices=("auto", *METRICS, "none"),
        group="Metric",
    )
    normalize: str = setting(
        "none",
        "How wer and cer read hypotheses and references; the texts in the output files stay "
        "unchanged. none: as they are, so case and punctuation count. lower: in lower case. "
        "basic: in lower case, with blanks in place of punctuation and symbols (apostrophes inside "
        "words stay), after Unicode's NFKC. whisper: Whisper's rules for English numbers, "
        "contractions, titles and spelling (pip install '.[whisper]').",
        choices=METRIC_NORMALIZATIONS,
    )
    bleu_tokenize: str = setting(
        "13a",
        "sacrebleu's tokenizer. Use none for text that is already tokenised.",
        choices=BLEU_TOKENIZERS,
    )
    leave_out_dev: bool = setting(
        False,
        "Measure only the test lists that are not also dev lists: the weights were tuned on those. "
        "All lists are reranked and written.",
    )
    output_file: str | None = setting(
        None,
        "File for the reranked lists in the format of the input, best first, with the combined "
        "score (for the decision mbr, minus the expected loss); - is standard output (the report "
        "then goes to standard error). In the kaldi format, the costs go to the same name with "
        ".scores appended.",
        group=FILES,
        writes=True,
    )
    best_file: str | None = setting(
        None,
        "File for the best text of each list, in their order, as words: lines of text (by number, "
        "if the ids are 0 to N-1); of `id text` (Kaldi's) if the name ends in text; sclite's trn "
        "(.trn); or a row per list (.csv, .tsv, .jsonl), as in the input, with a column `best` "
        "more; - is standard output.",
        writes=True,
    )
    scores_file: str | None = setting(
        None,
        "File for the scores as JSON lines: id, text, first_pass_score, lm_score, num_tokens, "
        "features that are used, combined; natural log, higher is better. For the decision mbr "
        "also posterior, 0 to 1, and expected_loss. With several models, lm_score is the "
        "mixture's, and `models` has the lm_score and num_tokens of each model. Without a model, "
        "there is no lm_score. With --rescore_model, also first_lm_score, and whether the lm_score "
        "is estimated.",
        writes=True,
    )
    confidence: str | None = setting(
        None,
        "File for the confidence of every word of the picks as JSON lines, one per list: id, and "
        "words with word, probability, rival and rival_probability (docs/confidence.md). A name "
        "that ends in .csv or .tsv writes a row for each word, where cells without a rival are "
        "empty; .ctm writes NIST's CTM, for lists with the "
        "times of words. - is standard output.",
        writes=True,
    )
    confidence_weights: list[str] | None = setting(
        None,
        "Weights of confidences, as printed: name=weight, comma-separated. Default: fitted on "
        "--dev_nbest_file, or the default weights without dev lists.",
    )
    curve_file: str | None = setting(
        None,
        "File for the curve of the error on --dev_nbest_file against lm_weight: .png or .svg "
        "(needs matplotlib) or .tsv. There is one line per model; other weights stay as tuned.",
        writes=True,
    )
    report: str | None = setting(
        None,
        "File for the report as one self-contained .html page: the table, the curve, and the "
        "utterances whose best hypothesis changed, with every token coloured by its "
        "log-probability (needs jinja2 and matplotlib); - is standard output.",
        writes=True,
    )
    overwrite: bool = setting(False, OVERWRITE)

    def __post_init__(self):
        super().__post_init__()
        for name in ("dev_reference_file", "dev_score_file", "curve_file"):
            if getattr(self, name) is not None and self.dev_nbest_file is None:
                raise InputError(f"{name} needs dev_nbest_file")
        split_lm_weights(self.lm_weight, len(self.lm_weight or ()))  # checks their values
        features = parse_features(self.features) or {}
        check_phrases(self, features)
        tuned = {name for name, weight in features.items() if weight is None} - {"distance"}
        if self.dev_nbest_file is None and tuned:
            raise InputError(
                "features need dev_nbest_file, or a weight each (name=weight), got "
                f"{','.join(self.features or ())!r}"
            )
        if self.phrases_candidates is not None and (self.confidence or "").endswith(".ctm"):
            raise InputError("a CTM needs the times of words, which phrases_candidates have not")
        parse_weights(self.confidence_weights, "confidence_weights")  # checks them
        if self.decision == "max" and self.scale is not None:
            raise InputError("scale is for the decision mbr, not max")
        if self.normalize != "none" and self.metric != "auto":
            load_metric(self.metric, normalize=self.normalize)  # fails if it has no such choice
        if self.leave_out_dev and self.dev_nbest_file is None:
            raise InputError("leave_out_dev needs dev_nbest_file")
        if self.metric == "none" and self.dev_nbest_file is not None:
            raise InputError("tuning on dev_nbest_file needs a metric, not none")
        if self.report is not None and self.report.endswith(_NOT_HTML):
            raise InputError(f"report must end in .html, not {self.report!r}")
        if self.curve_file is not None and not self.curve_file.endswith(tuple(CURVE_FORMATS)):
            raise InputError(
                f"curve_file must end in {', '.join(CURVE_FORMATS)}, not {self.curve_file!r}"
            )

    def given_confidence_weights(self) -> "ConfidenceWeights | None":
        """The weights of confidences, if they are given; else None."""
        weights = parse_weights(self.confidence_weights, "confidence_weights")
        if weights is None:
            return None
        from tta.scoring.words.confidence import ConfidenceWeights

        return ConfidenceWeights.of(weights)

    def fixed_weights(self) -> FixedWeights:
        """The weights that are given. Without `features`, every feature of the lists is chosen."""
        features = parse_features(self.features)
        return FixedWeights(
            length_bonus=self.length_bonus,
            reduction=self.reduction,
            scale=self.scale,
            decision=self.decision,
            features={EVERY_FEATURE: None} if features is None else features,
            lm_weights=None if self.lm_weight is None else tuple(self.lm_weight),
        )


def check_phrases(config: RerankConfig, features: Collection[str]) -> None:
    """Raises InputError for settings of phrases without a file, or a feature of their name."""
    for name in ("phrases_weight", "phrases_candidates"):
        if config.phrases_file is None and getattr(config, name, None) is not None:
            raise InputError(f"{name} needs phrases_file")
    if config.phrases_file is not None and PHRASES in features:
        raise InputError(f"features: {PHRASES} is that of phrases_file; give it by phrases_weight")


def keeps_non_words(config: RerankConfig) -> bool | None:
    """The argument `keep_non_words` of `tta.data.nbest.files.read_nbest`."""
    if config.keep_non_words:
        return True
    return not METRICS.load(config.metric).of_speech if config.metric in METRICS else None


def parse_features(
    features: Sequence[str] | None, flag: str = "features"
) -> dict[str, float | None] | None:
    """Reads `--features` or another `flag`, items name or name=weight: {name: weight or None}.

    None stays None. Raises InputError if a weight is not a finite number, or a name is missing or
    there twice.
    """
    if features is None:
        return None
    weights: dict[str, float | None] = {}
    for item in features:
        name, equals, weight = item.partition("=")
        if not name or name in weights:
            raise InputError(f"{flag} must be different names, not {','.join(features)!r}")
        try:
            weights[name] = parse_score(weight) if equals else None
        except InputError:
            raise InputError(f"{flag}: expected name=number, got {item!r}") from None
    return weights


def parse_weights(
    features: Sequence[str] | None, flag: str = "features"
) -> dict[str, float] | None:
    """As `parse_features`, where each item must have a weight."""
    weights = parse_features(features, flag)
    if weights is None:
        return None
    for name, weight in weights.items():
        if weight is None:
            raise InputError(f"{flag}: expected name=weight, got {name!r}")
    return {name: weight for name, weight in weights.items() if weight is not None}
