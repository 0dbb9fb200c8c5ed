"""tta serve: a real server on a free port, which also has the page of tta demo."""

import contextlib
import http.client
import json
import math
import random
import socket

import pytest

import tta
from tests.commands import run_command
from tests.fake_model import FakeModel
from tests.scoring.server.serving import serving
from tta.errors import InputError
from tta.scoring.reports.page import style
from tta.scoring.server.config import ServerConfig
from tta.scoring.server.guard import is_own
from tta.scoring.server.server import Server

LIST = {"hypotheses": ["the kat sat", "the cat sat"], "scores": [-1.0, -1.5]}
WEIGHTS = {"lm_weight": 0.5, "length_bonus": 0.0, "scale": None, "features": {}}


@pytest.fixture(scope="module")
def port():
    with serving(FakeModel()) as port:
        yield port


def ask(port, body, path="/v1/rerank", method="POST", **headers):
    """The status, headers and body of a request; a body that is not bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as to:
        to.request(method, path, data, headers)
        reply = to.getresponse()
        return reply.status, reply.headers, reply.read()


def test_a_list_is_reranked(port):
    status, headers, body = ask(port, LIST | {"weights": WEIGHTS})
    answer = json.loads(body)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert answer["hypotheses"] == [
        {
            "text": "the cat sat", "index": 1, "lm_score": -3.0, "score": -2.25,
            "posterior": None, "expected_loss": None, "rescored": None, "features": {},
            "terms": {"first_pass_score": -0.75, "lm_score": -1.5, "num_words": 0.0},
        },
        {
            "text": "the kat sat", "index": 0, "lm_score": -7.0, "score": -4.0,
            "posterior": None, "expected_loss": None, "rescored": None, "features": {},
            "terms": {"first_pass_score": -0.5, "lm_score": -3.5, "num_words": 0.0},
        },
    ]  # fmt: skip
    assert answer["weights"] == WEIGHTS | {
        "bonus_is_guessed": False, "first_level": None, "tuned_on": None,
        "reduction": "sum", "shares": [1.0],
    }  # fmt: skip
    assert answer["signature"] == "fake|version:0"


def test_weights_of_python_are_those_of_a_request(port):
    weights = tta.RerankWeights(0.3, -0.5, "mean", scale=2.0, features={"distance": 0.1})
    status, _, body = ask(port, LIST | {"weights": weights.to_dict()})
    assert status == 200, body
    answer, expected = json.loads(body), tta.rerank(*LIST.values(), FakeModel(), weights=weights)
    assert tta.RerankWeights.from_dict(answer["weights"]) == weights
    assert [row["score"] for row in answer["hypotheses"]] == pytest.approx(expected.scores)
    assert [row["text"] for row in answer["hypotheses"]] == expected.texts


def test_notes_name_the_fields_of_a_request(port):
    answer = json.loads(ask(port, {"hypotheses": LIST["hypotheses"]})[2])
    assert any('("rank_scores": false)' in note for note in answer["notes"])
    assert any('because "weights" is missing' in note for note in answer["notes"])


def test_the_page_loads_nothing_from_elsewhere(port):
    status, headers, page = ask(port, b"", "/", "GET")
    assert (status, headers.get_content_type()) == (200, "text/html")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert b"http:" not in page
    assert b"https:" not in page
    assert b"innerHTML" not in page  # texts may contain anything
    assert style().encode() in page
    assert b"{{" not in page
    assert b"[[-1.0, -2.0, -4.0, -6.0, -9.0], [0.95," in page  # where colours change


ONE = {"hypotheses": ["a"]}
WRONG = [
    (b"{", "the body, character 1: JSON decode error"),
    (b"", "the body is empty"),
    (b"\xff{}", "the body, byte 1: expected UTF-8, got byte 0xff"),
    (b'{"hypotheses": ["\xe9"]}', "the body, byte 18: expected UTF-8, got byte 0xe9"),
    (b"null", "expected an object with hypotheses, scores, features, lists"),
    (b'{"hypotheses": ["\xc3("]}', "the body, byte 18: expected UTF-8, got byte 0xc3"),
    (b"[" * 100_000, "the body: expected JSON, got too many brackets in brackets"),
    ([], "expected an object with hypotheses, scores, features, lists, weights, "),
    (
        {"lists": [["a"]]},
        "lists.0: expected an object with hypotheses, scores, features, got ['a']",
    ),
    ({"lists": ["a"]}, "lists.0: expected an object with hypotheses, scores, features, got 'a'"),
    (ONE | {"weights": 3}, "weights: expected an object with lm_weight, length_bonus, "),
    ({"text": "a"}, "text: Extra inputs are not permitted"),
    ({"scores": None}, "hypotheses: Field required, or lists"),
    ({"query": "a", "documents": ["b"]}, "ranks no documents by a query"),
    (ONE | {"lists": [ONE]}, "hypotheses: Field required, or lists in place"),
    ({"lists": []}, "lists: List should have at least 1 item"),
    (ONE | {"features": {"am": [1, 2]}}, "am has length 2, hypotheses 1"),
    (ONE | {"scores": []}, "scores has length 0, hypotheses 1"),
    ({"lists": [ONE, ONE | {"scores": [1, 2]}]}, "lists.1: scores has length 2, hypotheses 1"),
    ({"lists": [ONE, ONE | {"scores": [1]}]}, "some lists have scores, and others have none"),
    (ONE | {"weights": WEIGHTS | {"length_bonus": 1e308}}, "at most 1e+200 in size"),
    (ONE | {"weights": WEIGHTS | {"features": {"rank": -1e308}}}, "at most 1e+200 in size"),
    ({"hypotheses": ["a"] * 20_000}, "at most 1,000 texts, got 20,000"),
    (ONE | {"scores": [math.nan]}, "scores.0: Input should be a finite number"),
    (ONE | {"scores": [1e155]}, "a number of at most 1e+100 in size"),
    ({"hypotheses": ["\ud800"]}, "lists[0][0] is not valid Unicode"),
    (b'{"hypotheses": ' + b"9" * 5_000 + b"}", "the body: a number has thousands of digits"),
    (ONE | {"weights": WEIGHTS | {"length_bonus": math.nan}}, "should be a finite number"),
    (ONE | {"weights": {"scale": 1}}, "weights.lm_weight: Field required"),
    (ONE | {"weights": WEIGHTS | {"lm_weight": 2}}, "lm_weight must be between 0 and 1"),
    (ONE | {"weights": WEIGHTS | {"reduction": "max"}}, "reduction must be sum or mean, not 'max'"),
    (ONE | {"weights": WEIGHTS | {"shares": [0.5, 0.5]}}, "have 2 shares, one per model, not 1"),
    (
        ONE | {"weights": WEIGHTS | {"shares": [0.5]}},
        "shares must not be negative and must sum to 1",
    ),
    (ONE | {"weights": WEIGHTS | {"decision": "mbr"}}, "decision must be max with this scale"),
    (ONE | {"metric": "bleu"}, "metric: Input should be 'wer' or 'cer'"),
    (ONE | {"weights": WEIGHTS | {"scale": -1}}, "scale must be at least 0, not -1.0"),
    (ONE | {"weights": WEIGHTS | {"features": {"am": 1}}}, "not every hypothesis has"),
]


@pytest.mark.parametrize(("body", "rule"), WRONG)
def test_a_wrong_request_is_one_line(port, body, rule):
    status, _, reply = ask(port, body)
    error = json.loads(reply)["error"]["message"]
    assert (status, error.count("\n")) == (400, 0)
    assert rule in error


def test_other_requests_are_refused_before_they_are_read(port):
    long = str(ServerConfig().max_body_bytes + 1)
    assert ask(port, b"", "/other")[0] == 404
    assert ask(port, b"", "/../etc/passwd", "GET")[0] == 404
    assert ask(port, ONE, Content_Type="text/plain")[0] == 415
    assert ask(port, b"", Content_Length=long)[0] == 413
    assert ask(port, b"", Content_Length="-1")[0] == 400
    assert ask(port, b"", Content_Length="9" * 5_000)[0] == 400
    assert ask(port, b"", Content_Length="\u00b2")[0] == 400
    assert ask(port, ONE)[0] == 200  # and it goes on


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        (["localhost"], 200),
        (["LOCALHOST:1"], 200),
        (["127.0.0.1:8000"], 200),
        (["[::1]:8000"], 200),
        ([], 403),
        ([""], 403),
        (["evil.example"], 403),
        (["127.0.0.1.evil.example:8000"], 403),
        (["localhost@evil.example"], 403),
        (["203.0.113.5"], 403),
        (["localhost", "evil.example"], 403),
        (["localhost:" + "8" * 5_000], 403),
    ],
)
def test_requests_under_another_name_are_refused(port, method, hosts, status):
    """Else a page that resolves its own name to 127.0.0.1 could read answers."""
    body = b'{"hypotheses": ["a"]}' if method == "POST" else b""
    lines = [f"{method} {'/v1/rerank' if body else '/'} HTTP/1.1", *(f"Host: {h}" for h in hosts)]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    request = "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body
    assert raw(port, request, close=False).startswith(b"HTTP/1.1 %d" % status)


def test_a_server_for_others_has_its_addresses_and_its_names():
    name = socket.gethostname()
    assert [is_own(h, "0.0.0.0") for h in ("192.0.2.1:80", name, "evil.example")] == [1, 1, 0]
    assert [is_own(h, "desk.example") for h in ("desk.example", "evil.example")] == [1, 0]
    assert [is_own(h, "::1") for h in ("[::1]:80", "192.0.2.1:80", name)] == [1, 0, 0]


def raw(port, request, close=True):
    """The reply to the bytes of a request, after which nothing more is sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as to:
        to.sendall(request)
        with contextlib.suppress(OSError):  # the server was faster
            if close:
                to.shutdown(socket.SHUT_WR)
            return to.makefile("rb").read()
    return b""


HEAD = b"POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("lengths", [[30], [21, 22], [21, 21]])
def test_a_content_length_that_lies_is_refused(port, lengths):
    head = HEAD + b"".join(b"Content-Length: %d\r\n" % n for n in lengths)
    reply = raw(port, head + b'\r\n{"hypotheses": ["a"]}')
    assert reply == b"" if lengths == [30] else reply.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("head", [b"GET / HT", HEAD + b"Content-Length: 99\r\n\r\n{"])
def test_a_client_that_sends_byte_by_byte_is_not_waited_for(head):
    with (
        serving(FakeModel(), timeout=0.5) as port,
        socket.create_connection(("127.0.0.1", port), timeout=0.05) as to,
        contextlib.suppress(ConnectionError),
    ):
        to.sendall(head)
        for _ in range(95):
            with contextlib.suppress(TimeoutError):
                to.recv(1)
                return
            to.sendall(b" ")
        pytest.fail("it waits")


def test_no_request_prints_a_traceback(port, capfd):
    rng = random.Random(5)
    pieces = [HEAD, b"Host: a\r\n", b"\r\n", b"Content-Length: 21\r\n", b'{"hypotheses": ["a"]}',
              b"\0", b"Content-Length: 9e9\r\n", b"GET / HTTP/9.9\r\n", b"\xff", b"A" * 70_000,
              b"NaN", b'{"hypotheses": ["a"], "weights": {}}', b"Transfer-Encoding: x\r\n",
              b" "]  # fmt: skip
    heads = [b"", HEAD, HEAD + b"Content-Length: 21\r\n\r\n"]
    for _ in range(200):
        raw(port, rng.choice(heads) + b"".join(rng.choices(pieces, k=rng.randint(1, 6))))
    assert capfd.readouterr().err == ""
    assert ask(port, ONE)[0] == 200


def test_an_answer_never_holds_nan():
    lm = FakeModel()
    lm.signature = math.nan
    with serving(lm) as port:
        status, _, reply = ask(port, ONE)
    assert (status, json.loads(reply)["error"]["type"]) == (500, "server_error")


def test_a_port_in_use_and_a_model_without_scores_are_one_line(port):
    rule = f"^127.0.0.1:{port}: Address already in use; choose another --port or --host$"
    with pytest.raises(InputError, match=rule):
        Server(FakeModel(), ServerConfig(port=port), print)
    ended = run_command("tta-demo", "--port=70000")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("texts", [[""], ["", ""], [" ", "\t"], ["", "uh"], ["<pad>", "</s>"]])
def test_a_list_without_words_is_answered(port, texts):
    scores = [-1.0, -900.0][: len(texts)]
    status, _, body = ask(port, {"hypotheses": texts, "scores": scores}, "/v1/rerank")
    assert status == 200, body
    answer = json.loads(body)
    assert sorted(one["text"] for one in answer["hypotheses"]) == sorted(texts)
    assert answer["words"] == []
