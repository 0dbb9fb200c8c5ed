"""tta serve: keys, logs without texts, several lists, similarities, clients that leave."""

import json
import socket
import time

import numpy as np

import tta
from tests.fake_model import FakeModel
from tests.scoring.server.serving import serving
from tests.scoring.server.test_app import ask


def test_a_key_is_asked_for_but_not_for_health():
    with serving(FakeModel(), api_key="secret") as port:
        body = {"texts": ["the cat"]}
        for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "secret"}):
            status, _, answer = ask(port, body, "/v1/score", **headers)
            assert (status, set(json.loads(answer)["error"])) == (401, {"message", "type"})
        assert ask(port, body, "/v1/score", Authorization="Bearer secret")[0] == 200
        assert ask(port, b"", "/health", "GET")[0] == 200


def test_the_log_has_each_request_and_no_text(capfd):
    with serving(FakeModel(), access_log="json") as port:
        ask(port, {"texts": ["zebra crossing"]}, "/v1/score")
        ask(port, b"", "/nowhere", "GET")
    log = capfd.readouterr().err
    assert "zebra" not in log
    assert [json.loads(line)["status"] for line in log.splitlines()] == [200, 404]


def test_several_lists_are_answered_in_order():
    lists = [["the kat sat", "the cat sat"], ["a dog"]]
    with serving(FakeModel()) as port:
        _, _, answer = ask(port, {"lists": [{"hypotheses": texts} for texts in lists]})
    found = [one["hypotheses"] for one in json.loads(answer)["lists"]]
    assert [sorted(row["text"] for row in rows) for rows in found] == [sorted(t) for t in lists]


def test_similarities_are_those_of_the_model():
    first, second = ["the cat", "a dog"], ["the mat", "the cat"]
    with serving(FakeModel()) as port:
        body = {"pairs": [*zip(first, second, strict=True)]}
        _, _, answer = ask(port, body, "/v1/similarity")
    expected = FakeModel().similarity(first, second)
    np.testing.assert_allclose(json.loads(answer)["similarities"], expected, atol=1e-6)


def test_words_are_compared_and_have_no_vectors():
    lm = tta.load(engine="onnxruntime")
    pairs = [["the cat", "a cat"], ["3 dogs", "4 dogs"], ["", "the cat"]]
    with serving(lm, representation="aligned") as port:
        _, _, answer = ask(port, {"pairs": pairs}, "/v1/similarity")
        status, _, refusal = ask(port, {"input": "a"}, "/v1/embeddings")
    answer = json.loads(answer)
    expected = lm.similarity(*zip(*pairs, strict=True), "aligned")
    np.testing.assert_allclose(answer["similarities"], expected, atol=1e-6)
    assert answer["signature"] == lm.comparison_signature("aligned")
    assert (status, "take joint" in json.loads(refusal)["error"]["message"]) == (400, True)


class Slow(FakeModel):
    """Takes 5 ms for each text."""

    def __init__(self):
        super().__init__()
        self.texts = 0

    def score_with_counts(self, texts, progress=False):
        self.texts += len(texts)
        time.sleep(0.005 * len(texts))
        return super().score_with_counts(texts, progress)


def test_work_ends_when_the_client_has_left_and_short_requests_go_between():
    lm = Slow()
    with serving(lm) as port:
        body = json.dumps({"texts": ["the cat"] * 900}).encode()
        head = (
            f"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", port)) as to:
            to.sendall(head.encode() + body)
            time.sleep(0.5)
            start = time.monotonic()
            assert ask(port, {"texts": ["a dog"]}, "/v1/score")[0] == 200
            assert time.monotonic() - start < 2.5  # all texts would take 4.5 s
        time.sleep(1.0)
        scored = lm.texts
        assert scored < 850
        time.sleep(0.5)
        assert lm.texts == scored
