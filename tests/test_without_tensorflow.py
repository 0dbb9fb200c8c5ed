"""Formats, tuning, metrics and reports work where TensorFlow and Keras are not installed."""

import json
import re
import sys

import pytest

from tests.commands import environment, python, run_command
from tests.modeling.tiny import tiny_config
from tests.reranked import by_decision
from tests.tiny_dataset import sentences, write_dataset
from tta.errors import install

pytestmark = pytest.mark.tensorflow

LISTS = "--nbest_file=examples/asr.test.json", "--dev_nbest_file=examples/asr.dev.json"
BLOCK = """
import runpy, sys
sys.modules.update(dict.fromkeys(("tensorflow", "tensorflow_text", "keras")))
"""
SCRIPT = "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
COMMAND = "import tta.flags.score; sys.argv[0] = 'tta-score'; tta.flags.score.run()"
EXPORT = "import tta.flags.export; sys.argv[0] = 'tta-export'; tta.flags.export.run()"
TESTS = (
    "import pytest; sys.exit(pytest.main(['-q', '-n0', '-p', 'no:cacheprovider', *sys.argv[1:]]))"
)

ARPA = """\\data\\
ngram 1=5
ngram 2=1

\\1-grams:
-1.5\t<unk>\t0
-99\t<s>\t0
-1.2\t</s>\t0
-1\tthe\t0
-1.1\tcat\t0

\\2-grams:
-0.3\tthe cat

\\end\\
"""


def run(code, *arguments):
    return python(BLOCK + code, *arguments, env=environment(COLUMNS="99"))


def test_reranking_without_a_model_and_its_report(tmp_path):
    report = tmp_path / "report.html"
    done = run(SCRIPT, "run_rerank.py", "--model=none", *LISTS, f"--report={report}")
    assert done.returncode == 0, done.stderr
    assert "oracle" in done.stdout
    assert "</html>" in report.read_text(encoding="utf-8")


def test_reranking_and_scoring_with_an_ngram_model(tmp_path):
    model = tmp_path / "lm.arpa"
    model.write_text(ARPA)
    done = run(SCRIPT, "run_rerank.py", f"--model=kenlm:{model}", *LISTS)
    assert done.returncode == 0, done.stderr
    assert "type:ngram" in done.stdout
    done = run(COMMAND, f"--model=kenlm:{model}", "--input_file=examples/sentences.txt")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('{"score": ')


def test_encoding_with_word_vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 0\ncat 0 1\n")
    done = run(f"import tta; print(tta.load('glove:{path}').encode(['the cat']).tolist())")
    assert (done.returncode, done.stdout) == (0, "[[0.5, 0.5]]\n"), done.stderr


def test_all_formats_of_nbest_lists():
    """The tests that read and write each format; large files are read by the same code."""
    done = run(TESTS, "tests/data/nbest/test_files.py", "-k", "not real_files")
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def reranked():
    """{engine: {decision: [{id: {rank: hypothesis}}, what the command printed]}} of LISTS."""
    done = run("from tests.reranked import main; main()", "onnxruntime", *LISTS)
    assert done.returncode == 0, done.stderr
    found = {"onnxruntime": json.loads(done.stdout), "tensorflow": by_decision("tensorflow", LISTS)}
    for engine, one in found.items():
        assert all(f"|engine:{engine}|" in printed for _, printed in one.values())
    return found


def test_the_built_in_model_orders_all_hypotheses_alike(reranked):
    written = {}
    for engine, found in reranked.items():
        lists, printed = found["max"]
        # Tuned weights follow the scores, whose rounding differs.
        printed = re.sub(r"(?m)model:.*|\].*|^decision.*", "", printed)
        written[engine] = re.sub('"score": .*', "", json.dumps(lists, indent=1)), printed
    assert written["onnxruntime"] == written["tensorflow"]


def test_the_built_in_model_picks_the_same_hypotheses(reranked):
    """By expected errors, which may be equal but for rounding behind the first hypothesis."""
    picks = [
        {name: one["hyp_1"]["text"] for name, one in found["mbr"][0].items()}
        for found in reranked.values()
    ]
    assert picks[0] == picks[1]


def test_a_neural_model_scores_and_encodes():
    done = run(COMMAND, "--input_file=examples/sentences.txt", "--tokens")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('{"score": ')
    assert "|engine:onnxruntime|" in done.stderr
    done = run("import tta; print(tta.load().encode(['the cat'], 'joint').shape)")
    assert (done.returncode, done.stdout) == (0, "(1, 513)\n"), done.stderr


def test_the_first_score_waits_for_no_import_of_scipy():
    code = "import tta; tta.load().score(['the cat']); print('scipy' in sys.modules)"
    done = run(code)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.parametrize(
    ("code", "arguments", "rule"),
    [
        (COMMAND, ("--model=elmo-s-small", "--input_file=examples/sentences.txt"), "type elmo"),
        (COMMAND, ("--engine=tensorflow", "--input_file=examples/sentences.txt"), "engine"),
        (EXPORT, ("--output_dir=/tmp/no-such-folder/1",), "engine tensorflow needs tensorflow"),
    ],
)
def test_what_needs_tensorflow_says_so_in_one_line(code, arguments, rule):
    done = run(code, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert rule in done.stderr
    assert done.stderr.endswith(f"{install()}\n") or f"({install()})" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_training_says_what_it_needs(tmp_path):
    write_dataset(tmp_path / "data", sentences(9))
    tiny_config().to_json(tmp_path / "config.json")
    flags = f"--input_dir={tmp_path / 'data'}", f"--config_file={tmp_path / 'config.json'}"
    done = run(SCRIPT, "run_pretraining.py", *flags, f"--output_dir={tmp_path / 'run'}")
    rule = "this needs the packages of training, and keras is not installed"
    assert done.stderr == f"error: {rule}: {install('train')}\n"


def test_a_saved_model_needs_the_extra_train(tmp_path, monkeypatch):
    """In this process, which has imported TensorFlow."""
    for name in [one for one in sys.modules if one.startswith("tta.scoring.exports.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    done = run_command("tta-export", f"--output_dir={tmp_path / '1'}")
    rule = "this needs the packages of training, and tensorflow_text is not installed"
    assert done == (1, "", f"error: {rule}: {install('train')}\n")
    assert not list(tmp_path.iterdir())
