"""The routes for programs: scores, lists, vectors, numbers for a monitor, and their description."""

import base64
import json
import signal
import subprocess
import sys
import threading
from html import escape

import numpy as np
import pytest
from openapi_spec_validator import validate

import tta
from tests.commands import run_command
from tests.fake_model import FakeModel
from tests.scoring.server.serving import serving
from tests.scoring.server.test_app import ask
from tta.scoring.server.pages import docs_page

TEXTS = ["the cat sat on the mat", "a dog", "", "i scream for ice cream", "東京"]


@pytest.fixture(scope="module")
def lm():
    return tta.load("small", engine="onnxruntime")


@pytest.fixture(scope="module")
def port(lm):
    with serving(lm, max_texts=50, max_characters=200) as port:
        yield port


def post(port, path, **body):
    """The status and the content of a request."""
    status, _, answer = ask(port, body, f"/v1/{path}")
    return status, json.loads(answer)


def test_scores_are_those_of_the_model(lm, port):
    status, answer = post(port, "score", texts=TEXTS)
    sums, counts = lm.score_with_counts(TEXTS)
    assert status == 200
    np.testing.assert_allclose(answer["scores"], sums, atol=1e-5)
    assert answer["num_tokens"] == counts.tolist()
    assert answer["num_unknown"] == lm.count_unknown(TEXTS).tolist() == [0, 0, 0, 0, 2]
    assert answer["signature"] == lm.signature


def test_token_scores_are_those_of_the_model(lm, port):
    _, answer = post(port, "score_tokens", texts=TEXTS)
    for found, expected in zip(answer["results"], lm.score_tokens(TEXTS), strict=True):
        assert found["tokens"] == expected.tokens
        np.testing.assert_allclose(
            found["log_probabilities"], expected.log_probabilities, atol=1e-5
        )


def test_phrases_are_those_of_tta_rerank(lm, port):
    texts, scores = ["to go to home", "to go to kathmandu", "to go to the cat"], [-1.0, -9.0, -10.0]
    body = {"hypotheses": texts, "scores": scores}
    plain = post(port, "rerank", **body)[1]
    more = {"phrases": ["kathmandu", "the"], "phrases_weight": 50}
    answer = post(port, "rerank", **body, **more)[1]
    with pytest.warns(UserWarning, match="common words"):
        expected = tta.rerank(texts, scores, lm, **more)
    assert [row["text"] for row in answer["hypotheses"]] == expected.texts
    assert expected.texts[0] == "to go to kathmandu" != plain["hypotheses"][0]["text"]
    assert answer["words"][3]["word"] == "kathmandu"
    assert answer["weights"]["features"]["phrases"] > 0
    assert any("common words among the phrases were left out: 1" in n for n in answer["notes"])
    again = post(port, "rerank", **body, phrases=["kathmandu"], weights=answer["weights"])[1]
    assert again["hypotheses"][0]["text"] == "to go to kathmandu"
    wrong = [
        ({"phrases": []}, "phrases: List should have at least 1 item"),
        ({"phrases": ["a\tb"]}, "phrases: expected a finite number"),
        ({"phrases_weight": 1}, "phrases_weight needs phrases"),
        ({"phrases": ["a"], "phrases_weight": 101}, "phrases_weight: "),
        ({"weights": answer["weights"]}, "not every hypothesis has a feature 'phrases'"),
    ]
    for one, rule in wrong:
        status, answer_ = post(port, "rerank", **body, **one)
        assert status == 400
        assert rule in answer_["error"]["message"]


def test_vectors_have_the_form_of_openai(lm, port):
    status, answer = post(port, "embeddings", input=TEXTS[:2], model="small", user="somebody")
    assert (status, answer["object"], answer["model"]) == (200, "list", "small")
    assert [one["index"] for one in answer["data"]] == [0, 1]
    vectors = [one["embedding"] for one in answer["data"]]
    unit = lm.encode(TEXTS[:2], normalize_embeddings=True)
    np.testing.assert_allclose(vectors, unit, atol=1e-5)
    assert answer["usage"] == {"prompt_tokens": 8, "total_tokens": 8}
    packed = post(port, "embeddings", input=TEXTS[0], encoding_format="base64")[1]["data"]
    found = np.frombuffer(base64.b64decode(packed[0]["embedding"]), "<f4")
    np.testing.assert_allclose(found, vectors[0], atol=1e-5)
    assert post(port, "embeddings", input="a", model="text-embedding-3-small")[0] == 404


@pytest.mark.parametrize(
    ("path", "body", "rule"),
    [
        ("score", {"texts": []}, "texts: List should have at least 1 item"),
        ("score", {"texts": "a"}, "texts: Input should be a valid list"),
        ("score", {"texts": [1]}, "texts.0: Input should be a valid string"),
        ("score", {"texts": ["\ud800"]}, "not valid Unicode"),
        ("score", {"texts": ["a"], "more": 1}, "more: Extra inputs are not permitted"),
        ("score", {}, "texts: Field required"),
        ("score", {"texts": ["a"] * 51}, "at most 50 texts, got 51"),
        ("score", {"texts": ["a", "b" * 201]}, "text 2: at most 200 characters"),
        ("embeddings", {"input": {}}, "input"),
        ("embeddings", {"input": []}, "input: expected at least one text"),
        ("embeddings", {"input": "a", "encoding_format": "x"}, "encoding_format"),
    ],
)
def test_a_wrong_request_is_one_line_that_names_the_field(port, path, body, rule):
    status, answer = post(port, path, **body)
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert rule in answer["error"]["message"]
    assert "\n" not in answer["error"]["message"]


def test_answers_stay_the_same_under_concurrency(lm, port):
    texts = [f"{'very ' * (number % 7)}long text number {number}" for number in range(64)]
    expected, found = lm.score(texts), {}

    def client(numbers):
        for number in numbers:
            found[number] = post(port, "score", texts=[texts[number]])[1]["scores"][0]

    clients = [threading.Thread(target=client, args=[range(i, 64, 8)]) for i in range(8)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    np.testing.assert_allclose([found[number] for number in range(64)], expected, atol=1e-5)


def test_a_model_that_takes_too_long_or_has_too_much_to_do_answers_503():
    lm, free = FakeModel(), threading.Event()
    score = lm.score_with_counts
    with serving(lm, timeout=0.2, max_waiting_texts=2) as port:
        lm.score_with_counts = lambda texts, progress=False: free.wait(5) and score(texts)
        status, answer = post(port, "score", texts=["a"])
        assert (status, answer["error"]["type"]) == (503, "overloaded_error")
        assert "no answer in time" in answer["error"]["message"]
        free.set()


def test_health_models_and_metrics(lm, port):
    post(port, "score", texts=["a"])
    ask(port, b"", "/no/such/page", "GET")
    health = json.loads(ask(port, b"", "/health", "GET")[2])
    assert health == {"status": "ok", "model": "small", "signature": lm.signature}
    models = json.loads(ask(port, b"", "/v1/models", "GET")[2])
    assert [one["id"] for one in models["data"]] == ["small"]
    assert json.loads(ask(port, b"", "/v1/models/small", "GET")[2]) == models["data"][0]
    assert ask(port, b"", "/v1/models/other", "GET")[0] == 404
    assert b"/docs lists them" in ask(port, b"", "/v1/scores", "GET")[2]
    metrics = ask(port, b"", "/metrics", "GET")[2].decode()
    assert 'tta_requests_total{path="/v1/score",status="200"}' in metrics
    assert 'tta_requests_total{path="other",status="404"}' in metrics
    assert "/no/such/page" not in metrics


def test_the_description_is_valid_and_true(port):
    description = json.loads(ask(port, b"", "/openapi.json", "GET")[2])
    validate(description)
    assert set(description["paths"]) == {
        *("/health", "/metrics"),
        *(f"/v1/{name}" for name in ("score", "score_tokens", "rerank", "embeddings", "models")),
        "/v1/similarity",
    }
    answers = description["paths"]["/v1/score"]["post"]["responses"]
    assert set(answers) == {
        *("200", "400", "401", "403", "408", "413", "415", "500", "503"),
    }


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"const": "list"}, '"list"'),
        ({"enum": ["float", "base64"]}, '["float", "base64"]'),
        ({}, '"any"'),
        ({"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}}, None),
    ],
)
def test_the_page_says_types_in_words(schema, words):
    body = {"schema": {"$ref": "#/components/schemas/Body"}}
    route = {"requestBody": {"content": {"application/json": body}}, "responses": {}}
    page = docs_page(
        {
            "info": {"title": "T", "version": "1", "description": "D"},
            "paths": {"/v1/x": {"post": route}},
            "components": {"schemas": {"Body": {"properties": {"field": schema}}}},
        }
    )
    assert f"<td>{escape(words or 'array of number or null')}</td>" in page


def test_the_command_answers_until_it_is_terminated():
    command = [sys.executable, "-m", "tta", "serve", "--port=0", "--engine=onnxruntime"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        port = int(it.stdout.readline().split("/ ")[0].rpartition(":")[2])
        assert post(port, "score", texts=["a dog"])[0] == 200
        it.send_signal(signal.SIGTERM)
        assert (it.stderr.read(), it.wait(20)) == ("", 0)
    ended = run_command("tta-serve", "--port=70000")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
