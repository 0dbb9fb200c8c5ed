"""Raw text that holds ids, times, JSON or tags is noted; prose of any kind is not."""

import gzip

import pytest

from tests.commands import run_command, run_with_fake_model
from tta.data.nbest.text_layouts import input_notes, layout_of
from tta.data.text.lines import TextReader

LAYOUTS = {  # lines of files, by the layout that the note names; blanks beside / part lines
    "an id and words on each line": [
        "spk0-utt0000 the house / spk1-utt0001 a dog / spk2-utt0002 we go",
        "spk0-utt0000 the house of number 0",
        "utt1 the house / utt2 a dog / utt3",
        "1089-134686-0000 HE HOPED THERE / 1089-134686-0001 STUFF IT",
        "BAC009S0002W0122 而 对 / BAC009S0002W0123 而 / BAC009S0002W0124 也",
        "p225_001 Please call / p225_002 Ask her / p226_001 Six",
        "FAKS0_SX43 a b / FAKS0_SX44 c d / MDAB0_SI1039 e f",
        "sw02001-A_000098-001156 hi um / sw02001-B_001980-002131 yeah / sw2-A_02-3 a",
        "011c0201 the / 011c0202 a / 011o0301 see",
        "AaronHuey_2010X-0000000 i / AlGore_2009-0000000 a / 911Mothers_2010W-0000320 b",
        "0001 the / 0002 a / 0017 b",
        "1 the / 2 a / 3 b",
        "a81bc81b-dead-4e5d the cat / bfc1c81b-dea1-ce5d a / 0a1bc81b-f00d-abf9 c",
        "utt1,the cat / utt2,a dog / utt3,so",
        "".join(f"a-{i} so / " for i in range(19)) + "the cat",
        "spk_a the cat / spk_b a dog / spk_c so",
        "utt-1-1 the cat / utt-1-2 a cat / utt-2-1 so",
    ],
    "words and an id on each line": [
        "the cat (utt1) / a dog (utt2) / (utt3)",
        "the cat (spk-utt001 -123.4) / a dog (spk-utt002 -12.3)",
    ],
    "JSON": [
        '{"id": "a", "text": "the"} / {"id": "b", "text": "a"}',
        '{"text": "the"}',
        '{ / "utts": { / "a": { / "output": [',
        '[ / {"input": ["a"',
        '["the cat", "a"] / ["b", "c"]',
    ],
    "STM": [";; about / file 1 speaker 0.0 1.5 <o,f0> the cat / file 1 speaker 1.5 2.5 <o,f0> a"],
    "CTM": ["utt1 1 0.00 0.10 the / utt1 1 0.10 0.30 cat 0.9"],
    "subtitles": [
        "1 / 00:00:01,000 --> 00:00:02,000 / the cat / 2",
        "WEBVTT / the cat",
        "[00:00.000 --> 00:04.000]  the cat",
        "[0.00s -> 4.00s] the cat",
    ],
    "lines with times": ["[00:12.00]the cat / [00:15.30]a"],
    "SGML or XML": [
        '<refset setid="a"> / <doc docid="x"> / <seg id="1">the cat</seg>',
        '<?xml version="1.0"?> / <dataset id="x">',
        '<seg id="1">the cat</seg>',
    ],
    "Moses": ["0 ||| the cat ||| lm= -1 ||| -2 / 0 ||| a ||| lm= -3 ||| -4", "the cat ||| die"],
    "fairseq": ["S-0\tthe / H-0\t-0.1\tder / 2020 | INFO | fairseq", "H-0 -0.1 a / H-1 -0.2 b"],
    "SRILM": ["-100.1 -20.3 2 the cat / -101.1 -20.3 2 a cat", "NBestList1.0 / (-100) the cat"],
    "icefall": ["utt1-0:\tref=['the', 'cat'] / utt1-0:\thyp=['the', 'cat']"],
    "audio files": ["/data/a1.wav the cat / /data/b.wav a dog", "en_1.mp3\tthe cat"],
    "a table": [
        "id\ttext / 1\tthe cat",
        "id,text / 1,the cat",
        "utterance_id;transcript / 1;the cat",
        "LJ001-0001|Printing, in the|Printing / LJ001-0002|in being|in being / LJ001-0003|a|b",
    ],
    "tokens with their tags": ["EU NNP B-NP B-ORG / rejects VBZ B-VP O / German JJ B-NP B-MISC"],
    "HTK": ['#!MLF!# / "*/a.lab" / the'],
    "Praat": ['File type = "ooTextFile" / Object class = "TextGrid"'],
}

PROSE = [  # lines, why they may look like something else
    ("The cat sat. / A dog ran.", "plain"),
    ("1984 was a year. / 2001 is another one. / 1776 too", "years"),
    ("1,234 people came. / 2,345 dogs ran. / 3,456 cats sat.", "numbers with commas"),
    ("$1,200 was paid. / $3.50 is left. / 50% of it", "amounts"),
    ("9/11 was a day. / 24/7 shops / 50/50 chances", "fractions"),
    ("12:30 is lunch. / 13:45 is tea. / 14:00 is work.", "times"),
    ("2024-01-05 We went. / 2024-01-06 At home. / 2024-01-07 Rest.", "dates"),
    ("1914-1918 there was a war.", "years in one line"),
    ("3D printing / 5G nets / 4K video / 2D art", "numbers and letters"),
    ("F-16 jets / B-52 planes / U-2 spies", "types of planes"),
    ("1st place / 2nd place / 3rd place", "ordinals"),
    ("1. Wash the rice. / 2. Cook it. / 3. Eat.", "a list"),
    ("- one / - two / * three", "a list"),
    ("J. R. R. Tolkien wrote. / C. S. Lewis too. / T. S. Eliot", "initials"),
    ("http://a.com/1 is one. / https://b.org/22 is two. / www.c.org/333 three.", "addresses"),
    ("@user1 hello / @user2 so / #3 no", "names of users"),
    ("JOHN: hello / MARY: hi / Speaker1: so / Speaker2: no", "dialogue"),
    ('"Hi," she said. / "Yes." / "No."', "quotes"),
    ("[He laughs] / [She cries] / (music)", "sounds"),
    ("It is (1999) / so (2001) / a cat (1987)", "years in brackets"),
    ("said Mr. Smith (MIT) / Ms. Lee (ETH) / a man (CMU)", "names in brackets"),
    ("<unk> the cat / <s> so </s> / <laugh>", "tags of recognisers"),
    ("he said so . . . / a . b . c . .", "tokens"),
    ("x1 = 5 / x2 = 6 / x3 = 7", "code"),
    ("for i in range(3): / if (x > 3) { / y = {1: 2} / a -> b", "code"),
    ("# Heading / Some | text / more; text, here", "Markdown"),
    ("The O / A O / B O", "letters"),
    ("东京 很 大 / 北京 也", "another script"),
    ("the cat / music.wav is a file. / a dog", "one line that fits"),
    ("spk_1 hello / spk_2 hi / spk_1 so", "speakers who return"),
    ("well-known words / T-shirts / co-operation", "hyphens"),
    ("", "nothing"),
]  # fmt: skip


def split(text):
    return [line for line in text.split(" / ") if line]


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in LAYOUTS.items() for text in texts]
)
def test_layouts_are_named(name, text):
    layout = layout_of(split(text))
    assert layout is not None
    assert name in layout.name


@pytest.mark.parametrize(("text", "why"), PROSE)
def test_prose_is_none(text, why):
    assert layout_of(split(text)) is None, why
    assert layout_of(split(text)[:1]) is None, why


TOKENS = ("[PAD]", "[EOS]", "[UNK]", "[SOS]", "[MASK]", "the", "cat", "sat", "on", "mat")
KALDI = "".join(f"spk{i % 7}-utt{i:04d} the cat sat on mat {i}\n" for i in range(120))


@pytest.mark.parametrize("verbatim", [True, False])
def test_a_note_names_the_first_file_and_counts_the_others(tmp_path, verbatim):
    (tmp_path / "a").write_text("the cat\n\n1 dog\n")
    (tmp_path / "b").write_bytes(gzip.compress(KALDI.encode()))
    (tmp_path / "c").write_text('\n  {"text": "the"}\n')
    paths = [str(tmp_path / name) for name in "abc"]

    def notes(*chosen, **options):
        reader = TextReader(chosen, verbatim, **options)
        assert sum(1 for _ in reader)
        return input_notes(reader)

    assert notes(paths[0]) == []
    assert notes(paths[2], column="text") == []
    (note,) = notes(*paths)
    assert note.startswith(f"whole lines were read, but those of {paths[1]} and 1 more look like ")
    assert note.endswith("first 'spk0-utt0000 the cat sat on mat 0'; give the sentences alone")
    (note,) = notes(paths[2], has_columns=True)
    assert note.endswith("look like JSON, first '{\"text\": \"the\"}'; column chooses the column "
                         "of the sentences")  # fmt: skip


COMMANDS = [
    ("tta-create-vocab", ["--vocab_file=v", "--vocab_size=90"]),
    pytest.param(
        "tta-create-tfrecords",
        ["--vocab_file=vocab.txt", "--output_dir=data", "--num_shards=1"],
        marks=pytest.mark.tensorflow,
    ),
    ("tta-score", []),
]


@pytest.mark.parametrize(("command", "flags"), COMMANDS)
def test_commands_that_read_raw_text_print_the_note(tmp_path, monkeypatch, command, flags):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text(KALDI)
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS))
    run = run_with_fake_model if command == "tta-score" else run_command
    ended = run(command, "--input_file=text", *flags)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("text look like an id and words on each line, as in Kaldi") == 1
