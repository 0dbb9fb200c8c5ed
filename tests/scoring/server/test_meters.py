"""The service's numbers for Prometheus and its access log, without a server."""

import json
import re

import pytest

from tta.scoring.server.meters import Answered, Meters

ONE = Answered("127.0.0.1", "POST", "/v1/score", 200, 1250.04, 30, 40)


def test_seconds_and_requests_are_counted_by_path():
    meters = Meters(["/v1/score"], lambda: 7)
    for one in (ONE, Answered(path="/etc/passwd", status=404, ms=250.0)):
        meters.observe(one)
    text = meters.text().decode()
    found = dict(re.findall(r"^(tta_request\S*(?:_sum|_total)\{.*\}) (\S+)$", text, re.MULTILINE))
    assert found == {
        'tta_requests_total{path="/v1/score",status="200"}': "1.0",
        'tta_requests_total{path="other",status="404"}': "1.0",
        'tta_request_seconds_sum{path="/v1/score"}': "1.25004",
        'tta_request_seconds_sum{path="other"}': "0.25",
    }
    assert "tta_waiting_texts 7.0" in text


@pytest.mark.parametrize("log", ["none", "line", "json"])
def test_the_access_log(capsys, log):
    Meters(["/v1/score"], lambda: 0, log).observe(ONE)
    written = capsys.readouterr().err
    if log == "json":
        written = " ".join(map(str, json.loads(written).values()))
    expected = "" if log == "none" else "127.0.0.1 POST /v1/score 200 1250.0 30 40"
    assert written.rstrip().partition("Z ")[2] == expected
    assert bool(written) == (log != "none")
