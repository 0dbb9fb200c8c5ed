"""No sentence that is tested on is tuned on."""

import json

import pytest

from benchmarks import evaluation_data
from benchmarks.guess import SETS
from tta.data.nbest.files import read_nbest

IWSLT, ATIS = "nbest/mt_iwslt14_deen", "nbest/asr_hyporadise"
SOURCES = {"dev": ["a", "b", "b", "c"], "test": ["c", "d", "c"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Data in which dev and test share sentences, and files repeat some."""
    monkeypatch.setattr(evaluation_data, "SPLIT_LISTS", tmp_path / "lists")
    for name in (IWSLT, ATIS):
        (tmp_path / name).mkdir(parents=True)
    for part, sources in SOURCES.items():
        lines = {
            "src": sources,
            "ref": [f"{part} {number}" for number in range(len(sources))],
            "nbest": [
                f"{number} ||| {source} {rank} ||| f= 1 ||| -{rank}"
                for number, source in enumerate(sources)
                for rank in (1, 2)
            ],
        }
        for kind, texts in lines.items():
            (tmp_path / IWSLT / f"{part}.{kind}").write_text("\n".join(texts) + "\n")
    for name, texts in (("train", "a b b c"), ("test", "c d c")):
        lists = [{"input": [text], "output": text} for text in texts.split()]
        (tmp_path / ATIS / f"{name}_atis.json").write_text(json.dumps(lists))
    return tmp_path


def test_a_source_sentence_stands_in_one_list(folder):
    for part, expected in (("dev", ["a 1", "b 1"]), ("test", ["c 1", "d 1"])):
        nbest, reference = (
            evaluation_data.path(f"{IWSLT}/{part}.{kind}", folder) for kind in ("nbest", "ref")
        )
        lists = read_nbest(nbest, reference_file=reference).lists
        assert [nbest_list.hypotheses[0].text for nbest_list in lists] == expected
        assert [nbest_list.reference for nbest_list in lists] == [f"{part} 0", f"{part} 1"]
        assert [len(nbest_list.hypotheses) for nbest_list in lists] == [2, 2]


def test_flight_requests_that_are_tested_on_are_not_tuned_on(folder):
    train, test = (evaluation_data.path(f"{ATIS}/{part}_atis.json", folder)
                   for part in ("train", "test"))  # fmt: skip
    assert [nbest["output"] for nbest in json.loads(train.read_text())] == ["a", "b", "b"]
    assert test == folder / ATIS / "test_atis.json"  # it is used as it is


def test_split_files_follow_the_data(folder):
    name = f"{IWSLT}/test.ref"
    before = evaluation_data.path(name, folder).read_text()
    (folder / name).write_text("x\ny\nz\n")
    assert evaluation_data.path(name, folder).read_text() == "x\ny\n" != before
    missing = f"{IWSLT}/test.src.gz"
    assert evaluation_data.path(missing, folder) == folder / missing


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (dev, _) in SETS.items() if dev])
def test_no_sentence_of_a_test_file_is_in_its_dev_file(tta_data, name):
    sentences = []
    for part in SETS[name]:
        path = evaluation_data.path(part)
        if path.suffix == ".nbest":
            path = evaluation_data.path(part.replace(".nbest", ".src"))
            sentences.append({*path.read_text(encoding="utf-8").splitlines()})
        else:
            sentences.append({nbest.reference for nbest in read_nbest(path).lists})
    dev, test = sentences
    assert len(dev) > 50
    assert not dev & test
