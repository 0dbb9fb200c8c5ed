"""tta-demo: a real server on a free port answers requests about lists and sentences."""

import contextlib
import http.client
import json
import math

import pytest

import tta
from tests.commands import run_command
from tests.fake_model import FakeModel
from tests.scoring.demo.serving import serving
from tta.errors import InputError
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.demo.answers import MAX_CHARACTERS, MAX_TEXTS, Answers, parse
from tta.scoring.demo.server import MAX_BYTES, make_server
from tta.scoring.reports.page import style

LIST = "-1.0 | the kat sat\n\n-1.5\tthe cat sat"
WEIGHTS = {"lm_weight": 0.5, "length_bonus": 0.0, "scale": None}


@pytest.fixture(scope="module")
def port():
    with serving(FakeModel()) as port:
        yield port


def ask(port, body, path="/answer", method="POST", **headers):
    """The status, headers and body of a request; a body that is not bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as to:
        to.request(method, path, data, headers)
        reply = to.getresponse()
        return reply.status, reply.headers, reply.read()


def test_a_list_is_reranked_and_its_tokens_have_levels(port):
    status, headers, body = ask(port, {"text": LIST, "weights": WEIGHTS})
    answer = json.loads(body)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert answer["hypotheses"] == [
        {
            "text": "the cat sat", "rank": 2, "first_pass": -1.5, "lm": -3.0, "words": 3,
            "tokens": [["the", -1.0, 0], ["cat", -1.0, 0], ["sat", -1.0, 0]],
            "combined": -2.25, "posterior": None,
        },
        {
            "text": "the kat sat", "rank": 1, "first_pass": -1.0, "lm": -7.0, "words": 3,
            "tokens": [["the", -1.0, 0], ["kat", -5.0, 3], ["sat", -1.0, 0]],
            "combined": -4.0, "posterior": None,
        },
    ]  # fmt: skip
    assert answer["weights"] == WEIGHTS
    assert (len(answer["legend"]), answer["signature"]) == (6, "fake|version:0")


@pytest.mark.parametrize("weights", [None, {"lm_weight": 0.2, "length_bonus": 1.5, "scale": 0.5}])
def test_the_order_is_that_of_tta_rerank(port, weights):
    answer = json.loads(ask(port, {"text": LIST, "weights": weights})[2])
    given = None if weights is None else RerankWeights(**weights)
    expected = tta.rerank(["the kat sat", "the cat sat"], [-1.0, -1.5], FakeModel(), weights=given)
    shown = answer["hypotheses"]
    assert [one["rank"] - 1 for one in shown] == expected.indices
    assert [one["combined"] for one in shown] == expected.scores
    assert [one["posterior"] for one in shown] == expected.posteriors
    assert answer["weights"]["lm_weight"] == expected.weights.lm_weight


def test_texts_without_scores_are_ordered_best_first(port):
    keep = {"lm_weight": 0.0, "length_bonus": 0.0, "scale": None}
    answer = json.loads(ask(port, {"text": "the kat sat\nthe cat sat", "weights": keep})[2])
    assert [(one["rank"], one["first_pass"]) for one in answer["hypotheses"]] == [
        (1, None),
        (2, None),
    ]
    assert [one["combined"] for one in answer["hypotheses"]] == [0.0, pytest.approx(-math.log(2))]


def test_the_page_loads_nothing_from_elsewhere(port):
    status, headers, page = ask(port, b"", "/", "GET")
    assert (status, headers.get_content_type()) == (200, "text/html")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert b"http:" not in page
    assert b"https:" not in page
    assert b"innerHTML" not in page  # texts may contain anything
    assert style().encode() in page
    assert b"{{" not in page


WRONG = [
    (b"{", "expected JSON in UTF-8"),
    (b"\xff{}", "expected JSON in UTF-8"),
    (b"[" * 100_000, "expected JSON in UTF-8"),
    ([], 'expected {"text": "...", "weights": {...} or null}'),
    ({"text": 1}, 'expected {"text": "...", "weights": {...} or null}'),
    ({"text": " \n"}, "expected one hypothesis per line, got none"),
    ({"text": "a\n" * (MAX_TEXTS + 1)}, "at most 100 lines, got 101; tta rerank reads files"),
    ({"text": "a" * (MAX_CHARACTERS + 1)}, "at most 20,000 characters, got 20,001"),
    ({"text": "-1 | a\n\nb"}, 'line 3: expected "score | text" as in other lines, got no score'),
    ({"text": "x | a"}, "line 1: expected a finite number as score, got 'x'"),
    ({"text": "nan | a"}, "line 1: expected a finite number as score, got 'nan'"),
    ({"text": "\ud800"}, "lists[0][0] is not valid Unicode"),
    ({"text": "a", "weights": {"lm_weight": 1}}, "expected the weights lm_weight"),
    ({"text": "a", "weights": WEIGHTS | {"lm_weight": 2}}, "lm_weight must be between 0 and 1"),
    ({"text": "a", "weights": WEIGHTS | {"scale": -1}}, "scale must be at least 0, not -1.0"),
    ({"text": "a", "weights": WEIGHTS | {"length_bonus": "x"}}, "expected a finite number"),
]


@pytest.mark.parametrize(("body", "rule"), WRONG)
def test_a_wrong_request_is_one_line(port, body, rule):
    status, _, reply = ask(port, body)
    error = json.loads(reply)["error"]
    assert (status, error.count("\n")) == (400, 0)
    assert rule in error


def test_other_requests_are_refused_before_they_are_read(port):
    long = str(MAX_BYTES + 1)
    assert ask(port, b"", "/other")[0] == 404
    assert ask(port, b"", "/../etc/passwd", "GET")[0] == 404
    assert ask(port, {"text": "a"}, Content_Type="text/plain")[0] == 415
    assert ask(port, b"", Content_Length=long)[0] == 413
    assert ask(port, b"", Content_Length="-1")[0] == 411
    assert ask(port, {"text": "a"})[0] == 200  # and it goes on


def test_the_texts_of_a_moved_weight_are_not_scored_again():
    lm, scored = FakeModel(), []
    score = lm.score_tokens
    lm.score_tokens = lambda texts, progress=False: scored.append(texts) or score(texts)
    answers = Answers(lm)
    for weight in (0.1, 0.9):
        answers.answer({"text": LIST, "weights": WEIGHTS | {"lm_weight": weight}})
    assert scored == [["a"], ["the kat sat", "the cat sat"]]


def test_long_lines_of_blanks_take_no_time():
    blanks = " " * (MAX_CHARACTERS - 3)
    assert parse(f"a{blanks}b") == ([f"a{blanks}b"], None)


def test_a_port_in_use_and_a_model_without_scores_are_one_line(port):
    with pytest.raises(InputError, match=f"^127.0.0.1:{port}: Address already in use$"):
        make_server(FakeModel(), "127.0.0.1", port)
    ended = run_command("tta-demo", "--port=70000")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
