"""CTM: which times words get, which times are refused, and the names of recordings."""

import json

import pytest

from tests.commands import run_command
from tta.scoring.reranking.writing.ctm import align

ONE = [("twenty", 0, 1), ("one", 1, 2), ("is", 2, 3), ("the", 3, 4), ("wifi", 4, 5), ("key", 5, 6)]
ALIGNED = [
    # words, what was timed, their times, why
    ("a b", [("a", 0, 1), ("b", 1, 3)], [(0, 1), (1, 3)], "the same words"),
    ("A, b.", [("a", 0, 1), ("b", 1, 3)], [(0, 1), (1, 3)], "case and signs"),
    ("21 is the Wi Fi key.", ONE, [(0, 2), (2, 3), (3, 4), (4, 4.5), (4.5, 5), (5, 6)],
     "numbers, and words in two parts: as many words, but others"),
    ("it is 5 pm", [("it", 0, 1), ("is", 1, 2), ("five", 2, 3), ("pm", 3, 4)],
     [(0, 1), (1, 2), (2, 3), (3, 4)], "another spelling between the same neighbours"),
    ("a - b", [("a", 0, 1), ("b", 1, 2)], [(0, 1), None, (1, 2)], "a sign was not spoken"),
    ("a very b", [("a", 0, 1), ("b", 1, 2)], [(0, 1), None, (1, 2)], "nothing was timed there"),
    ("a b", [("<eps>", 0, 1), ("a", 1, 2), ("SIL", 2, 3), ("b", 3, 4)], [(1, 2), (3, 4)],
     "silence"),
    ("5 b", [("<sil>", 0, 1), ("five", 1, 2), ("b", 2, 3)], [(1, 2), (2, 3)], "silence, no number"),
    ("well-known b", [("well", 0, 1), ("known", 1, 2), ("b", 2, 3)], [(0, 2), (2, 3)], "joined"),
    ("a b", [("", 0, 1), ("", 1, 2)], [(0, 1), (1, 2)], "times without words"),
    ("你 好 世 界", [("你好世界", 0, 2)], [(0, 0.5), (0.5, 1), (1, 1.5), (1.5, 2)], "characters"),
    ("打开 窗户", [("打", 0, 1), ("开窗", 1, 3), ("户", 3, 4)], [(0, 2), (2, 4)], "segmented"),
    ("ก า wifi", [("กา", 0, 1), ("Wifi", 1, 2)], [(0, 0.5), (0.5, 1), (1, 2)], "Thai and English"),
    ("", [("a", 0, 1)], [], "no words"),
    ("a", [], [None], "no times"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "timed", "times", "why"), ALIGNED, ids=[r[3] for r in ALIGNED])
def test_words_get_the_times_of_the_words_that_were_timed(words, timed, times, why):
    found = align(words.split(), timed)
    assert [one and pytest.approx(one) for one in times] == found, why


def ctm(folder, document):
    """The exit status, the fields of the rows without the confidence, and what was printed."""
    path, output = folder / "meeting.json", folder / "sure.ctm"
    rows = document if isinstance(document, list) else [document]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    output.unlink(missing_ok=True)
    done = run_command("tta-rerank", "--model=none", f"--nbest_file={path}", "--decision=max",
                       "--length_bonus=0", f"--confidence={output}")  # fmt: skip
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    return done.returncode, [line.split()[:5] for line in lines], done.stdout + done.stderr


def vosk(start, end, text="hi you"):
    words = [{"word": "hi", "start": start, "end": end}, {"word": "you", "start": 3, "end": 4}]
    best = {"confidence": 250.1, "text": text, "result": words}
    return {"alternatives": [best, {"confidence": 240, "text": "hi", "result": words[1:]}]}


@pytest.mark.parametrize(
    ("start", "end", "rule"),
    [
        ({"seconds": "abc"}, 1, "expected a finite number as a time, got 'abc'"),
        (float("nan"), 2, "expected a finite number as a time, got nan"),
        (3, 2, "times run backwards: 'hi' is at 3 to 2 s"),
        (5, 6, "times run backwards: 'you' is at 3 to 4 s, after 5 s"),
        (-1, 2, "times run backwards: 'hi' is at -1 to 2 s"),
    ],
)
def test_times_that_are_none_are_one_line(start, end, rule, tmp_path):
    status, rows, printed = ctm(tmp_path, vosk(start, end))
    assert (status, rows) == (1, [])
    (line,) = printed.splitlines()
    assert rule in line
    assert "meeting.json: list 'meeting'" in line


def test_words_without_times_are_left_out_with_a_note(tmp_path):
    status, rows, printed = ctm(tmp_path, vosk(0, 1, "hi - you"))
    assert status == 0, printed
    assert [row[4] for row in rows] == ["hi", "you"]
    assert "note: words without times, not in the CTM: 1, first '-'" in printed


def google(channel, at, *texts):
    def words(text):
        times = ((word, at + n) for n, word in enumerate(text.split()))
        return [{"word": w, "startTime": f"{t}s", "endTime": f"{t + 1}s"} for w, t in times]

    alternatives = [
        {"transcript": text, "confidence": 0.9 - i / 10, "words": words(text)}
        for i, text in enumerate(texts)
    ]
    return {"channelTag": channel, "alternatives": alternatives}


def azure(channel):
    row = {"confidence": 0.9, "display": "A.", "lexical": "a"}
    row["words"] = [{"word": "a", "offsetInTicks": 0, "durationInTicks": 10_000_000}]
    return {"channel": channel, "nBest": [row, row]}


def deepgram(word):
    one = {"transcript": word, "words": [{"word": word, "start": 0, "end": 1}]}
    return {"alternatives": [one, one]}


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        pytest.param(
            {"results": [google(1, 0, "a b", "a"), google(2, 0, "d", "e"), google(1, 5, "f", "g")]},
            ["meeting 1 0.000 1.000 a", "meeting 1 1.000 1.000 b", "meeting 1 5.000 1.000 f",
             "meeting 2 0.000 1.000 d"], id="Google: by channel and time",
        ),
        pytest.param({"results": [google(0, 0, "a", "b")]}, ["meeting 1 0.000 1.000 a"], id="mono"),
        pytest.param(
            {"recognizedPhrases": [azure(0), azure(1)]},
            ["meeting 1 0.000 1.000 A.", "meeting 2 0.000 1.000 A."], id="Azure counts from 0",
        ),
        pytest.param(
            {"results": {"channels": [deepgram("a"), deepgram("b")]}},
            ["meeting 1 0.000 1.000 a", "meeting 2 0.000 1.000 b"], id="Deepgram",
        ),
        pytest.param(
            {"Results": [{"ChannelId": "ch_1", "alternatives": deepgram("a")["alternatives"]}]},
            ["meeting 2 0.000 1.000 a"], id="Amazon",
        ),
        pytest.param(
            [{"results": [google(1, 0, "a", "b")]}, {"results": [google(1, 3, "c", "d")]}],
            ["meeting 1 0.000 1.000 a", "meeting 1 3.000 1.000 c"], id="a stream of records",
        ),
        pytest.param(
            [{"results": [google(1, 0, "a", "b")]}, {"results": [google(1, 0, "c", "d")]}],
            ["meeting-0 1 0.000 1.000 a", "meeting-1 1 0.000 1.000 c"], id="two utterances",
        ),
    ],
)  # fmt: skip
def test_results_of_a_recording_keep_its_name_and_channel(document, rows, tmp_path):
    status, found, printed = ctm(tmp_path, document)
    assert status == 0, printed
    assert [" ".join(row) for row in found] == rows
