"""Bounds on connections: nobody gets 503 because another client is silent; keys and workers."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fake_model import FakeModel
from tests.scoring.server.serving import serving
from tests.scoring.server.test_app import ask
from tests.scoring.server.test_guarded import Slow
from tta.errors import InputError
from tta.scoring.server import server
from tta.scoring.server.config import ServerConfig

HEAD = b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
BODY = b'{"texts": ["the cat"]}'
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
CLIENT, OTHER = "127.0.0.1", "127.0.0.2"


def connect(stack, port, address, sent=b""):
    """An open connection from an address of this machine, which has sent some bytes."""
    made = socket.create_connection(("127.0.0.1", port), 10, source_address=(address, 0))
    stack.enter_context(made).sendall(sent)
    return made


def status(connection):
    return int(connection.recv(1000).split()[1])


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 8)
    monkeypatch.setattr(server, "MAX_OF_ADDRESS", 6)


# What a client sends that then waits: (bytes, how many connections)
SILENT = [(b"", 20), (HEAD, 20), (WHOLE[:-1], 20), (b"", 6), (WHOLE[:-1], 7)]


@pytest.mark.parametrize("address", [CLIENT, OTHER])
@pytest.mark.parametrize(("sent", "count"), SILENT, ids=str)
def test_silent_connections_of_a_client_make_room(few, address, sent, count):
    with serving(FakeModel()) as port, contextlib.ExitStack() as stack:
        for _ in range(count):
            connect(stack, port, CLIENT, sent)
        time.sleep(0.1)
        answers = [status(connect(stack, port, address, WHOLE)) for _ in range(4)]
    assert answers == [200] * 4


def test_the_one_that_waits_longest_is_closed_first(few):
    with serving(FakeModel()) as port, contextlib.ExitStack() as stack:
        silent = []
        for _ in range(7):
            silent.append(connect(stack, port, CLIENT))
            time.sleep(0.05)
        silent[0].settimeout(5)
        assert silent[0].recv(1) == b""
        silent[1].sendall(WHOLE)  # is no longer the one that waits longest
        assert status(silent[1]) == 200
        assert status(connect(stack, port, CLIENT, WHOLE)) == 200
        assert silent[2].recv(1) == b""
        silent[3].sendall(WHOLE)
        assert status(silent[3]) == 200


def test_a_client_whose_requests_wait_for_the_model_leaves_room_for_others(few):
    body = b'{"texts": [%s]}' % b",".join([b'"the cat"'] * 200)
    long = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with serving(Slow()) as port, contextlib.ExitStack() as stack:
        for _ in range(6):
            connect(stack, port, CLIENT, long)
        time.sleep(0.2)
        assert status(connect(stack, port, CLIENT, WHOLE)) == 503
        assert status(connect(stack, port, OTHER, WHOLE)) == 200


# (the key of the service, what a client sends as key, the status)
KEYS = [
    (" secret\n", "secret", 200),
    ("secret", "  secret\t", 200),
    ("two words", "two words", 200),
    ("voil\u00e0", "voil\u00e0".encode(), 200),  # whose last byte is a blank of Latin-1
    (" secret ", "", 401),
]


@pytest.mark.parametrize(("key", "sent", "expected"), KEYS)
def test_white_space_at_the_ends_of_a_key_does_not_count(monkeypatch, key, sent, expected):
    monkeypatch.setenv("TTA_API_KEY", key)
    sent = sent if isinstance(sent, bytes) else sent.encode()
    with serving(FakeModel()) as port:
        answer = ask(port, {"texts": ["a"]}, "/v1/score", Authorization=b"Bearer " + sent)
    assert answer[0] == expected


@pytest.mark.parametrize(("key", "rule"), [(" \n", "is blank"), ("a\nb", "has control characters")])
def test_a_key_that_no_client_can_send_is_refused(monkeypatch, key, rule):
    monkeypatch.setenv("TTA_API_KEY", key)
    with pytest.raises(InputError, match=f"^the key of --api_key or .TTA_API_KEY {rule}$"):
        ServerConfig()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux has it")
def test_a_replaced_worker_takes_the_cores_and_the_numbers_of_the_dead_one():
    command = [sys.executable, "-m", "tta", "serve", "--port=0", "--workers=2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        port = urlsplit(it.stdout.readline().split()[0]).port

        def workers():
            """{the process of each worker: its cores}"""
            children = Path(f"/proc/{it.pid}/task/{it.pid}/children").read_text().split()
            pids = [int(pid) for pid in children if b"spawn_main" in command_of(pid)]
            return {pid: sorted(os.sched_getaffinity(pid)) for pid in pids}

        def memory():
            numbers = ask(port, b"", "/metrics", "GET")[2].decode()
            [value] = re.findall(r"^tta_memory_bytes (\S+)$", numbers, re.MULTILINE)
            return float(value)

        try:
            for _ in range(10):  # each worker answers one
                ask(port, b"", "/metrics", "GET")
            before = workers()
            os.kill(max(before, key=before.__getitem__), signal.SIGKILL)
            wait_for(lambda: len(workers()) == 2 and workers() != before)
            wait_for(lambda: sorted(workers().values()) == sorted(before.values()))
            wait_for(lambda: memory() < 1.1 * sum(map(resident_bytes, workers())))
            answers = [ask(port, {"texts": ["a"]}, "/v1/score") for _ in "1234"]
        finally:
            it.send_signal(signal.SIGHUP)
            try:
                _, log = it.communicate(timeout=60)
            finally:
                it.kill()
    assert {(status, body) for status, _, body in answers} == {(200, answers[0][2])}
    assert (it.returncode, log) == (0, "")


def command_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def resident_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def wait_for(condition):
    end = time.monotonic() + 40
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)
