"""Hostile files, the short form: benchmarks/faults/fuzz.py reads 100,000 and more a reader."""

import tracemalloc

import hypothesis
import pytest
from hypothesis import strategies

from tests.fuzzing import READERS, outcome
from tests.fuzzing_models import MODEL_READERS, TENSORFLOW_READERS
from tta import checked_files
from tta.data.nbest import files as nbest
from tta.data.nbest import formats, sources
from tta.errors import InputError

INPUTS = 30


ALL = READERS | MODEL_READERS | TENSORFLOW_READERS
ACCEPT_ALL = {"marked_text", "tf1_state"}  # whatever the file is
SLOW = {"shard", "record"}  # a pipeline of TensorFlow takes 0.1 s


@pytest.mark.parametrize(
    "name",
    [
        *(READERS | MODEL_READERS),
        *(pytest.param(name, marks=pytest.mark.tensorflow) for name in TENSORFLOW_READERS),
    ],
)
def test_a_reader_gives_a_result_or_a_refusal(tmp_path, name):
    check_outcomes(tmp_path, name, ALL[name])


def check_outcomes(tmp_path, name, reader):
    @hypothesis.settings(
        max_examples=INPUTS // 2 if name in SLOW else INPUTS,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategies.binary(max_size=64))
    def run(tape):
        outcomes.add(outcome(reader, tmp_path / "file", tape))

    outcomes = set()
    run()
    # Both, or the files are too strange, or not strange enough, to say anything.
    expected = {"result"} if name in ACCEPT_ALL else {"result", "refused"}
    assert outcomes == expected


# Those whose check reads the file itself, and that of zip files, which have no lines.
OTHERS = {"dataset_info", "marked_text", "pooling"}
OTHERS |= {"arpa_counts", "packed_text"}  # without lines


@pytest.mark.parametrize("name", sorted(READERS.keys() - OTHERS))
def test_an_endless_line_is_refused(tmp_path, monkeypatch, name):
    check_an_endless_line_is_refused(tmp_path, monkeypatch, READERS[name])


def check_an_endless_line_is_refused(tmp_path, monkeypatch, reader):
    monkeypatch.setattr(sources, "MAX_DOCUMENT_BYTES", 1 << 20)
    monkeypatch.setattr(checked_files, "MAX_JSON_BYTES", 1 << 20)
    endless = tmp_path / "endless"
    with open(endless, "wb") as file:
        file.truncate(1 << 26)  # A hole takes no room.
    with pytest.raises(InputError, match=r"longer than|at most"):
        reader.check(endless)


# The hypotheses of one id: what comes before them, one of them, what separates them, what follows.
LISTS = {
    "kaldi": ("", "u-{0} a cat {0}", "\n", ""),
    "moses": ("", "0 ||| a cat {0} ||| -1", "\n", ""),
    "fairseq": ("S-0\tx\n", "H-0\t-1\ta cat {0}", "\n", ""),
    "csv": ("id,text,score\n", "0,a cat {0},-1", "\n", ""),
    "tsv": ("", "0\ta cat {0}\t-1", "\n", ""),
    "dict": ('{"u": {', '"hyp_{0}": {{"text": "a cat {0}", "score": -1}}', ",", "}}"),
    "jsonl": ('{"id": "u", "hypotheses": [', '"a cat {0}"', ",", "]}"),
    "json_rows": ("", '{{"id": 0, "text": "a cat {0}"}}', "\n", ""),
    "hyporadise": ('[{"input": [', '"a cat {0}"', ",", '], "output": "a cat"}]'),
    "nemo": ('{"id": "u", "beams": [', '["a cat {0}", -1]', ",", "]}"),
    "sockeye": ('{"scores": null, "translations": [', '"a cat {0}"', ",", "]}"),
    "responses": ('{"alternatives": [', '{{"transcript": "a cat {0}"}}', ",", "]}"),
    "srilm": ("", "-1 -2 3 a cat {0}", "\n", ""),
    "plain": ("", "a cat {0}", "\n", ""),
    "espnet1": (
        '{"utts": {"u": {"output": [',
        '{{"rec_text": "a cat {0}", "score": -1}}',
        ",",
        "]}}}",
    ),
}
assert LISTS.keys() == {n for n in formats.FORMATS if not formats.load_format(n).is_folder}


@pytest.mark.parametrize("name", LISTS)
def test_a_long_list_takes_memory_by_its_length(tmp_path, name):
    """What compared them in pairs would not end."""
    number = 2_000
    before, one, separator, after = LISTS[name]
    path = tmp_path / "list"
    path.write_text(before + separator.join(map(one.format, range(1, number + 1))) + after)
    tracemalloc.start()
    try:
        beam_size = number if name == "plain" else None
        (read,) = nbest.read_nbest(path, name, beam_size=beam_size).lists
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(read.hypotheses) == number
    assert peak < 4_000 * number
