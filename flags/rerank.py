"""Flags of run_rerank.py."""

import math

from absl import flags

from tta.flags import common, scoring

FORMATS = ["dict", "jsonl", "moses", "kaldi", "hyporadise", "tsv", "espnet1"]
BLEU_TOKENIZERS = ["13a", "none", "intl", "char", "zh"]
CURVE_FORMATS = [".png", ".svg", ".tsv"]


def define():
    """Defines the flags of run_rerank.py and the rules between them."""
    scoring.define()
    _define_inputs()
    _define_weights()
    _define_metric()
    _define_outputs()
    scoring.define_pll_variant()
    common.define_boundary_tokens()
    flags.adopt_module_key_flags(common)
    flags.adopt_module_key_flags(scoring)


def _define_inputs():
    flags.DEFINE_string(
        "nbest_file",
        None,
        "N-best lists to rerank; - is standard input. .gz and .xz are read as they are.",
        required=True,
    )
    flags.DEFINE_string(
        "dev_nbest_file",
        None,
        "N-best lists with references on which lm_weight, length_bonus and reduction are tuned, "
        "those of them that are not given.",
    )
    flags.DEFINE_enum(
        "format", None, FORMATS, "Format of both files. Default: told by the content."
    )
    for prefix, whose in (("", "nbest_file"), ("dev_", "dev_nbest_file")):
        flags.DEFINE_string(
            f"{prefix}reference_file",
            None,
            f"References of --{whose}, for formats without: lines `id words`, or one line a list.",
        )
        flags.DEFINE_string(
            f"{prefix}score_file",
            None,
            f"First-pass costs of --{whose} in the kaldi format (`utt-N cost`, natural log, lower "
            "is better).",
        )
    flags.DEFINE_integer(
        "beam_size",
        None,
        "Hypotheses per list in a tsv file of text<TAB>score, which does not say it.",
        lower_bound=1,
    )
    flags.DEFINE_bool(
        "rank_scores",
        False,
        "For lists without first-pass scores, the likeliest hypothesis first: take -ln(rank) as "
        "the score, so that the order has a say. Without it they are reranked by the language "
        "model alone.",
    )
    _needs_dev("dev_reference_file")
    _needs_dev("dev_score_file")


def _define_weights():
    flags.DEFINE(
        _NumbersParser(),
        "lm_weight",
        None,
        "Weight w of the language model, 0 to 1: (1 - w) * first pass + w * language model. With "
        "several models one weight each, comma-separated, their sum at most 1. Default of all "
        "weights: tuned together on --dev_nbest_file; without it, guessed from the scale of the "
        "scores, and the output says so.",
        serializer=flags.CsvListSerializer(","),
    )
    flags.DEFINE_float(
        "length_bonus",
        None,
        "Added per word, natural log; may be negative. 0 is the paper's formula, which with the "
        "sum of token scores favours short hypotheses.",
    )
    flags.DEFINE_enum(
        "reduction",
        None,
        ["sum", "mean"],
        "The language model's score is the sum or the mean of its token scores.",
    )
    flags.register_validator(
        "lm_weight",
        lambda values: values is None or all(map(math.isfinite, values)),
        "must be a finite number, or one a model, comma-separated",
    )
    flags.register_validator(
        "lm_weight",
        # Printed weights have six digits: their sum may be above 1 by what rounding does.
        lambda values: values is None or (min(values) >= 0 and sum(values) <= 1 + 1e-5),
        "must be between 0 and 1, and so must the sum",
    )
    flags.register_multi_flags_validator(
        ["lm_weight", "model"],
        lambda values: (
            values["lm_weight"] is None
            or len(values["lm_weight"]) == len(values["model"] or [None])
        ),
        "--lm_weight takes one number a --model, comma-separated",
    )
    flags.register_validator(
        "length_bonus",
        lambda value: value is None or math.isfinite(value),
        "must be a finite number",
    )


def _define_metric():
    flags.DEFINE_enum(
        "metric",
        "auto",
        ["auto", "wer", "bleu", "none"],
        "What is measured where there are references: word error rate (percent; words as they "
        "stand, case and punctuation count) or corpus BLEU. auto: bleu for the moses format, else "
        "wer.",
    )
    flags.DEFINE_enum(
        "bleu_tokenize",
        "13a",
        BLEU_TOKENIZERS,
        "sacrebleu's tokenizer; none is right for text that is tokenised already.",
    )
    flags.register_multi_flags_validator(
        ["metric", "dev_nbest_file"],
        lambda values: values["metric"] != "none" or values["dev_nbest_file"] is None,
        "--metric=none leaves nothing to tune on --dev_nbest_file by",
    )


def _define_outputs():
    flags.DEFINE_string(
        "output_file",
        None,
        "Where the reranked lists go, in the format they came in, best first, with the combined "
        "score; - is standard output (the report then goes to standard error). In the kaldi "
        "format the costs go to the same name with .scores added.",
    )
    flags.DEFINE_string(
        "scores_file",
        None,
        "Where the scores go, JSON lines: id, text, first_pass_score, lm_score, num_tokens, "
        "combined; natural log, higher is better. With several models lm_score is their mixture's, "
        "and `models` has each one's lm_score and num_tokens.",
    )
    flags.DEFINE_string(
        "curve_file",
        None,
        "Where the curve of the error on --dev_nbest_file against lm_weight goes, one line a "
        "model, the other weights as tuned: .png or .svg (needs matplotlib), or .tsv.",
    )
    flags.DEFINE_string(
        "report",
        None,
        "Where the report as a page goes, one self-contained .html: the table, the curve, and the "
        "utterances whose pick changed, every token coloured by its log-probability (needs jinja2 "
        "and matplotlib); - is standard output.",
    )
    common.define_overwrite()
    _needs_dev("curve_file")
    flags.register_validator(
        "curve_file",
        lambda path: path is None or path.endswith(tuple(CURVE_FORMATS)),
        f"must end in {', '.join(CURVE_FORMATS)}",
    )


class _NumbersParser(flags.ListParser):
    """Comma-separated numbers: a list of float."""

    def parse(self, argument):
        """The numbers of a text; a list stays as it is.

        Raises:
            ValueError: one of them is no number, or there is none.
        """
        numbers = [float(part) for part in super().parse(argument)]
        if not numbers:
            raise ValueError("expected a number")
        return numbers

    def flag_type(self):
        return "comma separated list of numbers"


def _needs_dev(name):
    flags.register_multi_flags_validator(
        [name, "dev_nbest_file"],
        lambda values: values[name] is None or values["dev_nbest_file"] is not None,
        f"--{name} needs --dev_nbest_file",
    )
