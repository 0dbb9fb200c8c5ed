"""The model `tta` in lm-evaluation-harness, where that is installed."""

import json

import numpy as np
import pytest

import tta
from tests.commands import ROOT, python
from tta.data.pairs.minimal_pairs import read_minimal_pairs
from tta.errors import InputError, install

MODULE = "tta.scoring.minimal_pairs.harness"
PAIRS = ROOT / "examples" / "minimal_pairs.jsonl"
TASKS = {  # as BLiMP's task in the harness; then a continuation, a text, a single continuation
    "pairs": {"output_type": "multiple_choice", "doc_to_text": "", "doc_to_target": 0,
              "doc_to_choice": "{{[sentence_good, sentence_bad]}}"},
    "continuations": {"output_type": "multiple_choice", "doc_to_text": "the cat",
                      "doc_to_target": 0, "doc_to_choice": "{{[sentence_good, sentence_bad]}}"},
    "texts": {"output_type": "loglikelihood_rolling", "doc_to_text": "",
              "doc_to_target": "{{sentence_good}}", "metric_list": [{"metric": "bits_per_byte"}]},
    "single": {"output_type": "loglikelihood", "doc_to_text": "the cat",
               "doc_to_target": "{{sentence_good}}",
               "metric_list": [{"metric": "perplexity"}, {"metric": "acc"}]},
}  # fmt: skip


def test_without_the_harness_there_is_one_line():
    hide = "import sys; sys.modules['lm_eval'] = None; sys.argv[1:] = []; import runpy; "
    code = hide + f"runpy.run_module({MODULE!r}, run_name='__main__')"
    done = python(code)
    line = f"error: this needs lm_eval: {install('lm-eval')}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """(what the harness gives, the model)."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    folder = tmp_path_factory.mktemp("harness")
    for name, task in TASKS.items():
        data = {"dataset_path": "json", "dataset_kwargs": {"data_files": str(PAIRS)}}
        task = {"task": name, "test_split": "train"} | data | task
        (folder / f"{name}.yaml").write_text(json.dumps(task))  # JSON is YAML
    __import__(MODULE)
    return lm_eval.simple_evaluate(
        model="tta",
        model_args="pretrained=small,engine=onnxruntime",
        tasks=list(TASKS),
        task_manager=TaskManager(include_path=str(folder)),
        bootstrap_iters=0,
    ), tta.load(engine="onnxruntime")


def scores(results, task):
    """The log-likelihoods of a task: [documents, choices]."""
    samples = sorted(results["samples"][task], key=lambda sample: sample["doc_id"])
    found = [[response[0] for response in one["resps"]] for one in samples]
    return np.array(
        [[one[0] if isinstance(one, tuple | list) else one for one in r] for r in found]
    )


@pytest.mark.large
def test_minimal_pairs_and_continuations_have_our_scores(results):
    found, lm = results
    pairs = read_minimal_pairs(PAIRS)
    sides = [pair.good for pair in pairs], [pair.bad for pair in pairs]
    ours = np.stack([lm.score(side) for side in sides], axis=1)
    np.testing.assert_allclose(scores(found, "pairs"), ours, atol=1e-4)
    assert found["results"]["pairs"]["acc,none"] == np.mean(ours[:, 0] > ours[:, 1])
    after = [lm.score(side, prefixes=["the cat"] * len(side)) for side in sides]
    np.testing.assert_allclose(scores(found, "continuations"), np.stack(after, axis=1), atol=1e-4)
    np.testing.assert_allclose(scores(found, "texts")[:, 0], ours[:, 0], atol=1e-4)


@pytest.mark.large
def test_a_metric_of_greedy_search_gets_a_note(capfd):
    from lm_eval.api.instance import Instance

    from tta.scoring.minimal_pairs.harness import HarnessModel

    model = HarnessModel(engine="onnxruntime", batch_size=1)

    def requests(choices):
        text = ("loglikelihood", {}, ("the", " cat"))
        return [Instance(*text, idx=i, metadata=("task", 0, 1)) for i in range(choices)]

    assert model.loglikelihood([]) == []
    model.loglikelihood(requests(2), disable_tqdm=True)
    assert "greedy" not in capfd.readouterr().err
    ((score, is_greedy),) = model.loglikelihood(requests(1), disable_tqdm=True)
    assert (is_greedy, score < 0) == (False, True)
    assert "greedy search finds a text is not computed" in capfd.readouterr().err
    with pytest.raises(InputError, match="it generates no text"):
        model.generate_until([])
