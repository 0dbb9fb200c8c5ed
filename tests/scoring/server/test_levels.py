"""A service of two levels, or of two precisions: what scores lists, and what scores texts."""

import json

import numpy as np
import pytest

import tta
from tests.fake_model import FakeModel
from tests.scoring.server.serving import serving
from tests.scoring.server.test_app import ask
from tta.scoring.scorers.inference.mixed import MixedModel

TEXTS = ["the kat sat", "the cat sat", "a cat zat", "x y", "the mat sat on", "z", ""]
SCORES = [-1.0, -1.2, -2.0, -30.0, -40.0, -50.0, -60.0]


@pytest.fixture(scope="module")
def levels():
    return tta.Levels(FakeModel("known"), FakeModel("length"), best=5)


@pytest.fixture(scope="module")
def post(levels):
    with serving(levels) as port:
        yield lambda path, **body: json.loads(ask(port, body, f"/v1/{path}")[2])


@pytest.mark.filterwarnings("ignore:lists of one hypothesis")
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1], [""]])
def test_a_list_is_reranked_as_by_tta_rerank(levels, post, texts):
    scores = SCORES[: len(texts)]
    answer = post("rerank", hypotheses=texts, scores=scores)
    expected = tta.rerank(texts, scores, levels)
    rows = answer["hypotheses"]
    assert [row["text"] for row in rows] == expected.texts
    assert [row["rescored"] for row in rows] == expected.rescored
    np.testing.assert_allclose([row["lm_score"] for row in rows], expected.lm_scores)
    assert answer["signature"] == levels.signature
    assert answer["weights"]["first_level"]["scale"] == expected.weights.first_level.scale
    again = post("rerank", hypotheses=texts, scores=scores, weights=answer["weights"])
    assert again["hypotheses"] == rows
    assert again["weights"] == answer["weights"]


def test_other_routes_are_those_of_the_first_model(levels, post):
    first = levels.models[0]
    answer = post("score", texts=TEXTS[:2])
    assert answer["scores"] == first.score(TEXTS[:2]).tolist()
    assert answer["signature"] == first.signature
    assert len(post("embeddings", input="the cat")["data"]) == 1


class Asked(FakeModel):
    """Keeps the texts whose tokens it scored."""

    def score_tokens(self, texts, progress=False):
        self.scored += texts
        return super().score_tokens(texts, progress)


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:6]])
def test_in_mixed_precision_a_short_list_is_not_scored_in_int8(texts):
    int8, exact = Asked("known"), Asked("length")
    scores = SCORES[: len(texts)]
    expected = tta.rerank(texts, scores, MixedModel(int8, exact))
    with serving(MixedModel(int8, exact)) as port:
        int8.scored.clear()
        exact.scored.clear()
        body = {"hypotheses": texts, "scores": scores}
        answer = json.loads(ask(port, body, "/v1/rerank")[2])
    assert [row["text"] for row in answer["hypotheses"]] == expected.texts
    assert set(int8.scored) == (set(texts) if len(texts) > 6 else set())
    in_float32 = [text for text in exact.scored if " " in text]  # others are also single words
    assert len(in_float32) == len(set(in_float32))  # none twice, also not for confidences
