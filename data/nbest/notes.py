"""Notes on a file of N-best lists: what looks wrong, and what is not used."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from tta.choices import SCORE_KINDS
from tta.data.nbest.files import NBestFile
from tta.data.nbest.formats import load_format
from tta.data.nbest.rows import have_little_in_common
from tta.data.text.spelling import WITHOUT_BLANKS
from tta.data.text.words import MARK
from tta.doors import option_named
from tta.errors import shown

# What a note says to do about scores of each kind in memory.
_IN_MEMORY = {
    "cost": "pass their negatives",
    "probability": "pass their logarithms",
    "log_probability": "ignore this",
}
# The share of lists, or of texts, that is "nearly all".
NEARLY_ALL = 0.9
# What tokenizers put blanks before: punctuation, and the ends of English contractions.
_MARK = r"(?:[.,]+|['\u2019](?:s|t|re|ve|ll|d|m)|n['\u2019]t)(?!\S)"
_DETACHED = re.compile(rf"(?<=\s){_MARK}")
_ATTACHED = re.compile(rf"(?:(?<=[^\W\d_])|(?<={MARK}))(?<!\bn){_MARK}")
_HIGHER_IS_BETTER = re.compile(r"(?i)(confidence|prob|probability|likelihood|posterior|score)s?$")
_LOWER_IS_BETTER = re.compile(r"(?i)nll|neg|loss|cost|ppl|perplexity")
# The share of texts of a list, and of lists, that must have little in common. In noisy speech and
# in translations, up to 1 % of the lists have so many; in lists that are mixed, 25 % or more.
_MANY_TEXTS, _MANY_LISTS, _COMPARED = 0.5, 0.1, 8
# The chance of lists in any order below which rising scores are no accident.
_CHANCE = 1e-3
# The share of lists whose references have little in common with them. It is at most 4 % in noisy
# speech, and 55 % or more with the references of other lists.
_MANY_REFERENCES = 1 / 3


def score_notes(file: NBestFile, in_memory: bool = False) -> Iterator[str]:
    """Yields a note if the scores of a file do not look like log-probabilities.

    Call it only if nobody said what they are. Lists in memory have no option that says it.
    """
    use = _IN_MEMORY if in_memory else {kind: _use(kind) for kind in SCORE_KINDS}
    chosen = load_format(file.format)
    lists = [[h.score for h in nbest.hypotheses if h.score is not None] for nbest in file.lists]
    scores = np.array([score for scores_of_list in lists for score in scores_of_list])
    if chosen.has_known_scores or not len(scores):
        return
    if chosen.score_kind == "cost":
        if scores.min() >= 0 < scores.max():
            yield (
                "the costs are all negative, like log-likelihoods; if they are, "
                f"{use['log_probability']}"
            )
        return
    different = [scores_of_list for scores_of_list in lists if len(set(scores_of_list)) > 1]
    sizes = [
        len(scores_of_list)
        for scores_of_list in different
        if all(a <= b for a, b in itertools.pairwise(scores_of_list))
    ]
    rising = len(sizes)
    log_chance = -sum(math.lgamma(size + 1) for size in sizes)  # that n scores rise is 1 / n!
    is_rising = rising >= NEARLY_ALL * len(different) and log_chance < math.log(_CHANCE)
    if scores.min() >= 0 and 0 < scores.max() <= 1:
        yield (
            f"the scores are between 0 and 1, like probabilities; if they are, {use['probability']}"
        )
    elif is_rising:
        yield (
            f"the scores rise from the first to the last hypothesis in {rising:,} of "
            f"{len(different):,} lists, like costs; if they are, {use['cost']}"
        )
    elif scores.min() >= 0 < scores.max():
        yield (
            "the scores are all positive or 0, which log-probabilities are not; if they are costs, "
            f"{use['cost']}; if they are right, {use['log_probability']}"
        )


def feature_notes(
    file: NBestFile, others: Sequence[NBestFile] = (), in_memory: bool = False
) -> Iterator[str]:
    """Yields notes on features that some hypotheses lack, and on confidences that are not used.

    `others` are files that must have the same features, such as the dev and the test file. Without
    scores the order of the hypotheses counts; a confidence may contradict it.
    """
    hypotheses = [h for nbest in file.lists for h in nbest.hypotheses]
    counts = Counter(name for h in hypotheses for name in h.features)
    for name, count in sorted(counts.items()):
        if count < len(hypotheses):
            yield (
                f"the feature {name} is left out: only {count:,} of {len(hypotheses):,} "
                "hypotheses have it"
            )
            continue
        lists = [nbest for other_file in others for nbest in other_file.lists]
        if not all(name in h.features for nbest in lists for h in nbest.hypotheses):
            yield f"the feature {name} is left out: the other file does not have it"
        best = max if _HIGHER_IS_BETTER.search(name) else None
        best = min if _LOWER_IS_BETTER.search(name) else best
        if best and hypotheses[0].score is None:
            lists = [[h.features[name] for h in nbest.hypotheses] for nbest in file.lists]
            worse = sum(values[0] != best(values) for values in lists if values)
            if worse > (1 - NEARLY_ALL) * len(lists):
                advice = _as_score(name, file, best is min, in_memory)
                yield (
                    f"the order of the hypotheses is used, not {name}, but in {worse:,} of "
                    f"{len(lists):,} lists the first one does not have the "
                    f"{'lowest' if best is min else 'highest'} {name}; {advice} to use it"
                )


def _as_score(name: str, file: NBestFile, is_cost: bool, in_memory: bool) -> str:
    """How a feature is made the score of the hypotheses of a file, or of lists in memory."""
    if in_memory:
        return f"pass {'its negatives' if is_cost else 'it'} as scores"
    takes_fields = "fields" in load_format(file.format).takes
    advice = f"pass {option_named('score_field', name)}" if takes_fields else "call it score"
    return f"{advice} and {_use('cost')}" if is_cost else advice


def mixture_notes(file: NBestFile) -> Iterator[str]:
    """Yields notes if lists mix utterances, or if references may belong to other lists."""
    mixed, strange = [], []
    several = measured = 0  # lists with several texts, and lists with a reference
    for nbest in file.lists:
        first, *later = [h.text for h in nbest.hypotheses if len(h.text) > 1] or [""]
        later = later[:: 1 + len(later) // _COMPARED]
        if later:
            several += 1
            far = sum(have_little_in_common(first, text) for text in later)
            mixed += [nbest] if far >= _MANY_TEXTS * len(later) else []
        if nbest.reference and nbest.hypotheses:
            measured += 1
            texts = [h.text for h in nbest.hypotheses[:3]]
            is_strange = all(have_little_in_common(nbest.reference, text) for text in texts)
            strange += [nbest] if is_strange else []
    if len(mixed) > _MANY_LISTS * several:
        yield (
            f"the texts of {len(mixed):,} of {several:,} lists have little in common, like those "
            f"of different utterances; first {shown(mixed[0].utterance_id)}"
        )
    if len(strange) > _MANY_REFERENCES * measured:
        yield (
            f"the references of {len(strange):,} of {measured:,} lists have little in common with "
            "their hypotheses; they may be in another order or belong to other lists; first "
            f"{shown(strange[0].utterance_id)}"
        )


def text_notes(file: NBestFile) -> Iterator[str]:
    """Yields a note if the texts are numbers of words."""
    texts = [h.text for nbest in file.lists for h in nbest.hypotheses if h.text.strip()]
    numbers = [text.split() for text in texts if re.fullmatch(r"[\d\s]+", text)]
    if len(numbers) >= NEARLY_ALL * len(texts) and any(
        int(word[:9]) > 99 for text in numbers for word in text
    ):
        yield (
            "the words are numbers; if they are indices of a vocabulary, turn them into words, as "
            "Kaldi's int2sym.pl does"
        )


def _use(kind: str) -> str:
    """What a note says to do about the scores of a file."""
    return f"use {option_named('scores', kind)}"


def blank_notes(file: NBestFile, advice: str | None = None) -> Iterator[str]:
    """Yields a note if texts are in a script without blanks, so that words are sentences."""
    advice = advice or f"{option_named('metric', 'cer')} counts characters"
    for name, texts in _texts(file).items():
        joined = sum(not re.search(r"\s", t) and bool(WITHOUT_BLANKS.search(t)) for t in texts)
        if texts and joined >= NEARLY_ALL * len(texts):
            yield f"the {name} have no blanks, so each counts as one word; {advice}"
            return


def bleu_notes(file: NBestFile, tokenize: str) -> Iterator[str]:
    """Yields a note if texts do not fit sacrebleu's tokenizer of that name."""
    if tokenize not in ("char", "zh"):
        yield from blank_notes(
            file, f"{option_named('bleu_tokenize', 'zh')} or char counts characters"
        )
    for name, texts in _texts(file).items():
        detached = [text for text in texts if _DETACHED.search(text)]
        if tokenize != "none" and len(detached) > sum(map(bool, map(_ATTACHED.search, texts))):
            yield (
                f"the {name} look tokenised, first {shown(detached[0])}; if all texts are, use "
                f"{option_named('bleu_tokenize', 'none')}, else detokenise them"
            )
            return


def _texts(file):
    """The texts of hypotheses and of references that are not empty."""
    return {
        "hypotheses": [h.text for nbest in file.lists for h in nbest.hypotheses if h.text],
        "references": [nbest.reference for nbest in file.lists if nbest.reference],
    }
