import random

import numpy as np
import pytest
import sacrebleu

from tta.errors import InputError
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.metric import BLEU_TOKENIZERS, METRICS, load_metric

SENTENCES = [
    "The cat, it is said, sat on the mat.",
    "A dog's home isn't far (3.5 km away)!",
    "„Nein“, said she; nothing more.",
    "one two three four five six seven",
    "Hi.",
]


def damaged(sentence, random_):
    words = sentence.split()
    kept = [w for w in words if random_.random() > 0.2] + random_.choices(words, k=2)
    return " ".join(kept)


@pytest.mark.parametrize("tokenize", BLEU_TOKENIZERS)
def test_corpus_and_signature_are_sacrebleus(tokenize):
    random_ = random.Random(3)
    metric = Bleu(tokenize)
    references = SENTENCES * 7
    hypotheses = [damaged(s, random_) for s in references[:-1]] + [""]
    pairs = list(zip(hypotheses, references, strict=True))
    totals = sum(metric.statistics([h], r)[0] for h, r in pairs)

    sacre = sacrebleu.metrics.BLEU(tokenize=tokenize)
    expected = sacre.corpus_score(hypotheses, [references]).score
    assert metric.corpus(totals) == pytest.approx(expected, rel=1e-13)
    assert metric.signature == f"BLEU|{sacre.get_signature()}"


def test_many_counts_at_once_are_sacrebleus():
    random_ = np.random.default_rng(5)
    total = random_.integers(0, 7, [2000, 4])  # often too short for 4-grams
    total = -np.sort(-total, axis=1)  # a text has the fewest n-grams of the highest order
    matched = random_.integers(0, total + 1) * (random_.random([2000, 4]) < 0.7)
    words, reference_words = total[:, 0], random_.integers(0, 9, 2000)
    rows = np.column_stack([words, reference_words, matched, total])
    metric = Bleu("13a")

    def of_sentences(rows):
        """BLEU with the effective order, from the errors per reference word."""
        errors = metric.errors(np.maximum(rows, [0, 1] + [0] * 8))
        return 100 * (1 - 4 * errors / np.maximum(rows[..., 1], 1))

    rows[:, 1] = np.maximum(rows[:, 1], 1)
    for compute, effective_order in (metric.corpus, False), (of_sentences, True):
        expected = [
            sacrebleu.metrics.BLEU.compute_bleu(
                correct=row[2:6].tolist(),
                total=row[6:].tolist(),
                sys_len=int(row[0]),
                ref_len=int(row[1]),
                smooth_method="exp",
                effective_order=effective_order,
            ).score
            for row in rows
        ]
        values = compute(rows.reshape(50, 40, 10))
        assert values.shape == (50, 40)
        np.testing.assert_allclose(values.ravel(), expected, rtol=1e-12, atol=1e-12)
        assert values.min() < 1e-9
    assert metric.errors(metric.statistics(["one", ""], "")).tolist() == [0, 0]


def test_tokenizer_is_checked():
    with pytest.raises(InputError, match=r"bleu_tokenize must be 13a or none or .*, not 'word'"):
        Bleu("word")


def test_metrics_are_loaded_by_name():
    assert [load_metric(name, "13a").name for name in METRICS] == [
        "WER",
        "CER",
        "BLEU",
        "chrF",
        "TER",
    ]
    assert "tok:none" in load_metric("bleu", "none").signature
    assert "normalize:lower" in load_metric("wer", normalize="lower").signature
    rule = f"metric must be {' or '.join(METRICS)}, not 'per'"
    with pytest.raises(InputError, match=rule):
        load_metric("per")
    with pytest.raises(InputError, match="is for metrics of speech, such as wer and cer, not bleu"):
        load_metric("bleu", normalize="lower")
