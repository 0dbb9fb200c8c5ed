"""Exported models: read by a process without this package, and called as by TF Serving."""

import concurrent.futures
import json
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tta
from tests.commands import ROOT, python, run_command
from tests.goldens.record import answers_of, golden
from tests.scoring.exports.serving.model_server import ModelServer
from tests.test_goldens import SCORES, VECTORS, differences
from tests.tiny import make_model, of_family, write_model_directory
from tta.errors import InputError
from tta.scoring.exports.serving import export as export_module
from tta.scoring.exports.serving.export import export
from tta.scoring.scorers.text_model import TextModel

pytestmark = pytest.mark.tensorflow

TYPES = ("tta", "bilm", "unilm")  # a cloze is exported in test_served_model.py
LONG = "the cat sat on the mat a dog ran home on the mat"
TEXTS = ["the cat sat", "", LONG, "Éz\u3000\U0001f600"]

# Operations for tokenizers that TF Serving links besides those of TensorFlow
# (tensorflow/serving, tensorflow_serving/model_servers/BUILD).
LINKED = {"FastBertNormalize", "FastWordpieceTokenizeWithOffsets"}

# A process with TensorFlow and TensorFlow Text and not this package. Arguments: models, texts.
FRESH = """
import json, sys
sys.modules["tta"] = None
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow.python.framework import op_def_registry

directories, texts = map(json.loads, sys.argv[1:])
unknown, results = {}, {}
for directory in directories:  # Before TensorFlow Text registers operations.
    saved = SavedModel.FromString(open(f"{directory}/saved_model.pb", "rb").read())
    (meta,) = saved.meta_graphs
    ops = {node.op for node in meta.graph_def.node}
    ops |= {node.op for f in meta.graph_def.library.function for node in f.node_def}
    unknown[directory] = [op for op in ops if op_def_registry.get(op) is None]
    assert len(ops) > 40

import tensorflow_text
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
for directory in directories:
    signatures = tf.saved_model.load(directory).signatures
    texts_ = tf.constant(texts)
    outputs = signatures["score"](texts=texts_) | signatures["encode"](texts=texts_)
    results[directory] = {key: value.numpy().tolist() for key, value in outputs.items()}
assert sys.modules["tta"] is None
print(json.dumps([unknown, results]))
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """{model_type: (TextModel, folder of its export)}."""
    folder = tmp_path_factory.mktemp("export")
    found = {}
    for kind in TYPES:
        config = of_family(kind, do_lower_case=kind != "bilm", num_hidden_layers=1)
        write_model_directory(folder / kind, config)
        lm = tta.load(folder / kind, engine="tensorflow")
        output = folder / "served" / kind / "1"
        if kind == "unilm":
            flags = f"--model={folder / kind}", f"--output_dir={output}"
            done = run_command("tta-export", *flags)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout == f"{output}: {lm.signature}\n"
        else:
            export(lm, output)
        found[kind] = lm, output
    return found


def command(*flags, before=""):
    """Runs tta export in a process of its own, after the code `before`."""
    path = str(ROOT / "flags" / "export.py")
    code = f"import runpy, sys; sys.argv[:1] = [{path!r}]; {before}\n"
    return python(f"{code}runpy.run_path(sys.argv[0], run_name='__main__')", *flags)


@pytest.fixture(scope="module")
def fresh(models, tmp_path_factory):
    """(operations unknown to TensorFlow, outputs) by folder, from a fresh process."""
    directories = json.dumps([str(directory) for _, directory in models.values()])
    folder = tmp_path_factory.mktemp("elsewhere")
    done = python(FRESH, directories, json.dumps(TEXTS), cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def server(models):
    return ModelServer(models["tta"][1])


@pytest.mark.parametrize("kind", TYPES)
def test_a_process_without_this_package_gets_the_scores_of_tta_load(models, fresh, kind):
    lm, directory = models[kind]
    assert set(fresh[0][str(directory)]) == LINKED
    got = fresh[1][str(directory)]
    sums, counts = lm.score_with_counts(TEXTS)
    np.testing.assert_allclose(got["scores"], sums, atol=1e-4)
    assert got["num_tokens"] == counts.tolist()
    np.testing.assert_allclose(got["vectors"], lm.encode(TEXTS), atol=1e-5)


def test_names_dtypes_and_shapes_of_the_signatures(server):
    def shown(infos):
        return {
            key: (
                tf.as_dtype(info.dtype).name,
                [dim.size for dim in info.tensor_shape.dim],
            )
            for key, info in infos.items()
        }

    texts, row = {"texts": ("string", [-1])}, [-1, -1]
    score = (texts, {"scores": ("float64", [-1]), "num_tokens": ("int64", [-1])})
    tokens = {"pieces": ("string", row), "log_probabilities": ("float32", row)}
    signatures = dict(server.signatures)
    del signatures["__saved_model_init_op"]
    assert {k: (shown(s.inputs), shown(s.outputs)) for k, s in signatures.items()} == {
        "serving_default": score,
        "score": score,
        "score_tokens": (texts, tokens | {"lengths": ("int64", [-1])}),
        "encode": (texts, {"vectors": ("float32", [-1, 12])}),
    }


def test_warm_up_requests_are_answered(models, server):
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    path = models["tta"][1] / "assets.extra" / "tf_serving_warmup_requests"
    asked = []
    for record in tf.data.TFRecordDataset(str(path)):
        request = PredictionLog.FromString(record.numpy()).predict_log.request
        outputs = {
            key: tf.make_ndarray(value)
            for key, value in server.Predict(request, None).outputs.items()
        }
        assert outputs, "an answer"
        asked.append(request.model_spec.signature_name)
        if asked[-1] == "score":
            assert outputs["num_tokens"].max() > 128, "longer than the built-in model takes"
    assert sorted(asked) == ["encode", "score", "score_tokens"]


def test_the_export_has_the_signature_of_its_scores(models):
    lm, directory = models["tta"]
    assert (directory / "assets.extra" / "tta_signature.txt").read_text() == f"{lm.signature}\n"


@pytest.mark.parametrize("texts", ["a dog", [["a dog"], ["a cat"]]])
def test_wrong_shapes_are_an_error_although_the_server_does_not_check_them(server, texts):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not compatible .* shape \[\?\]"):
        server.run("score", {"texts": np.array(texts, object)})


def fenced(language):
    """The code blocks of a language in docs/serving.md."""
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def built_in(tmp_path_factory):
    """A folder with the built-in model exported to models/tta/1, as on that page."""
    folder = tmp_path_factory.mktemp("built_in")
    export(tta.load(), folder / "models" / "tta" / "1")
    return folder


def test_the_built_in_model_answers_as_recorded(built_in):
    found, expected = answers_of(built_in / "models" / "tta" / "1"), golden("served")
    vectors = [one.pop("encode") for one in (found, expected)]
    wrong = differences(*vectors, VECTORS, "encode") + differences(found, expected, SCORES)
    assert not wrong, "\n".join(wrong)


def rounded(value):
    """JSON with approximate numbers, because processors round differently."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return pytest.approx(value, abs=1e-3) if isinstance(value, float) else value


def test_the_answers_in_the_documentation_are_those_of_the_built_in_model(built_in):
    server = ModelServer(built_in / "models" / "tta" / "1")
    blocks = [json.loads(block) for block in fenced("json")]
    assert len(blocks) >= 4
    for body, answer in zip(blocks[::2], blocks[1::2], strict=True):
        got = server.rest(body)
        if "error" in answer:
            assert got["error"].startswith(answer["error"].removesuffix(" ..."))
        else:
            assert got == rounded(answer), f"to paste: {json.dumps(got)}"
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    body, answer = re.search(r"`encode` answers `(.*)` with\n`(.*), \.\.\.\]\]}`", page).groups()
    (vector,) = server.rest(json.loads(body))["predictions"]
    (shown,) = json.loads(answer + "]]}")["predictions"]
    assert vector[: len(shown)] == rounded(shown)


def test_the_code_without_a_server_gives_the_score_of_the_documentation(built_in, monkeypatch):
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    code = re.search(r"## Without a server\n\n```python\n(.*?)```", page, re.DOTALL)[1]
    *statements, last = code.strip().splitlines()
    monkeypatch.chdir(built_in)
    names = {}
    exec("\n".join(statements), names)
    shown = re.search(r'"scores": (-15\.[0-9]+), "num_tokens": 5', page)[1]
    assert eval(last, names).numpy() == pytest.approx([float(shown)], abs=1e-3)


def test_the_client_in_the_documentation_works_over_grpc(server, models, capsys):
    import grpc
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        host = grpc.server(pool)
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(server, host)
        port = host.add_insecure_port("127.0.0.1:0")
        host.start()
        try:
            (client,) = (code for code in fenced("python") if "grpc" in code)
            (rerank,) = (code for code in fenced("python") if "first_pass_scores" in code)
            assert "localhost:8500" in client
            names = {}
            exec(client.replace("localhost:8500", f"127.0.0.1:{port}"), names)
            exec(rerank, names)
            lists = [names["hypotheses"]], [names["first_pass_scores"]]
            weights = tta.RerankWeights(names["lm_weight"], names["length_bonus"])
            (reranked,) = tta.rerank(*lists, models["tta"][0], weights=weights)
            order = np.argsort(-names["combined"], kind="stable")
            assert order.tolist() == reranked.indices
            np.testing.assert_allclose(names["combined"][order], reranked.scores, atol=1e-4)
            texts = ["i scream for ice cream", "eye scream four ice cream"]
            np.testing.assert_allclose(names["scores"], models["tta"][0].score(texts), atol=1e-4)
            with pytest.raises(grpc.RpcError) as error:
                names["ask"]("score", texts=[b"\xff"])
            assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert "not valid UTF-8" in error.value.details()
        finally:
            host.stop(None).wait()
    capsys.readouterr()


def test_a_failed_export_leaves_no_files(tmp_path, models, monkeypatch):
    seen = []

    def fail(_):
        (folder,) = filter(Path.is_dir, (tmp_path / "tta").iterdir())  # beside its lock
        seen.append(folder.name)
        raise tf.errors.ResourceExhaustedError(None, None, "no space left on device\nmore")

    def save(_, folder, signatures):
        (folder / "saved_model.pb").write_text("half")
        (folder / "fingerprint.pb").touch()

    monkeypatch.setattr(tf.saved_model, "save", save)
    monkeypatch.setattr(export_module, "warmup_requests", fail)
    with pytest.raises(InputError, match=r"tta/1: cannot be written: no space left on device$"):
        export(models["tta"][0], tmp_path / "tta" / "1")
    assert seen != []
    assert not seen[0].isdecimal(), "TF Serving would load it"
    assert list((tmp_path / "tta").iterdir()) == []


def test_the_command_refuses_a_folder_in_one_line_and_without_tensorflow(tmp_path):
    poison = "sys.modules.update(dict.fromkeys(['tensorflow', 'keras', 'numpy']))"
    done = command(f"--output_dir={tmp_path}", before=poison)
    assert done.returncode == 1
    assert done.stderr == (
        f"error: {tmp_path}: the folder's name must be a version number, as in {tmp_path / '1'}\n"
    )


@pytest.mark.parametrize("name", ["tta", "1a", "\N{ARABIC-INDIC DIGIT THREE}", "-1"])
def test_the_name_of_the_folder_must_be_a_version(tmp_path, name):
    with pytest.raises(InputError, match="the folder's name must be a version number"):
        export(None, tmp_path / name)


def test_an_output_dir_that_exists_is_refused(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "2").symlink_to("nowhere")
    for version in ("1", "2"):
        with pytest.raises(InputError, match="exists; a version is never replaced"):
            export(None, tmp_path / version)


def test_what_is_no_model_with_a_vocabulary_is_refused(tmp_path):
    rule = "only a T-TA, cloze, biLM or uniLM can be exported, not a dict"
    with pytest.raises(InputError, match=rule):
        export({}, tmp_path / "1")
    with pytest.raises(InputError, match=r"has no vocab.txt"):
        export(TextModel(make_model(), None), tmp_path / "1")
    assert list(tmp_path.iterdir()) == []


def test_nothing_in_an_export_is_random(models):
    for lm, folder in models.values():
        saved = tf.train.load_checkpoint(str(folder / "variables/variables"))
        names = [name for name in saved.get_variable_to_shape_map() if name.startswith("saved_var")]
        weights = lm.model.weights
        assert len(names) == len(weights) < len(lm.model.variables), "no state of a dropout"
        print_ = tf.saved_model.experimental.read_fingerprint(str(folder))
        content = (folder / "fingerprint.pb").read_bytes()
        assert str(print_.saved_model_checksum).encode() in content
