"""`light.safetensors`: graphs, ranges for int8 and an index are used where they belong alone."""

import re
import shutil
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
import pytest

import tta
from tests.commands import python
from tests.tiny import TOKENS, of_family, write_arrays
from tta.errors import InputError
from tta.modeling.formats import weights
from tta.modeling.formats.model_directory import load_model
from tta.modeling.formats.onnx.light import INDEX, LightFile
from tta.modeling.formats.parts import part_of
from tta.modeling.formats.run_checkpoint import write_checkpoint
from tta.modeling.formats.trained_models import BUILT_IN, PRETRAINED
from tta.modeling.kits.onnx import graph as graphs
from tta.modeling.kits.onnx.graph import Graph
from tta.modeling.kits.onnx.kit import OnnxKit
from tta.modeling.kits.onnx.ranges import LOGITS, are_small, fit, has_vnni
from tta.modeling.kits.onnx.weights import Arrays, Weights
from tta.names import LIGHT, VOCABULARY, WEIGHTS
from tta.scoring.engines.directory import tokenizer_in
from tta.scoring.engines.onnxruntime import calibration
from tta.scoring.engines.onnxruntime import engine as engines
from tta.scoring.engines.onnxruntime.calibration import LIMIT, PROBES, write_light
from tta.scoring.engines.onnxruntime.language_model import are_odd
from tta.scoring.engines.onnxruntime.loading import engine_class, load_onnx
from tta.scoring.engines.onnxruntime.session import Session
from tta.scoring.engines.options import EngineOptions
from tta.scoring.exports.formats import export_folder

TEXTS = ["the cat sat on the mat.", "a dog", "", "the", "the cats ran home 'quickly' the dog the"]
SHIPPED = [path.parent for path in (BUILT_IN / LIGHT, *sorted(PRETRAINED.glob(f"*/{LIGHT}")))]
FAMILIES = ("tta", "bilm", "unilm", "cloze")


@pytest.fixture(autouse=True)
def with_vnni(monkeypatch):
    """The ranges are used on any processor; the products of small numbers are right on all."""
    monkeypatch.setattr(engines, "has_vnni", lambda: True)


@pytest.fixture(autouse=True, scope="module")
def with_any_ranges():
    """Random models keep their fixed ranges, however much these change scores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "LIMIT", float("inf"))
        yield


def rows():
    rng = np.random.default_rng(1)
    return [rng.integers(5, len(TOKENS), rng.integers(3, 10)).astype(np.int32) for _ in range(40)]


@pytest.fixture(scope="module", params=FAMILIES)
def directory(request, tmp_path_factory):
    config = of_family(request.param, learned_normalizer=True)
    folder = write_arrays(tmp_path_factory.mktemp("models") / "model", config)
    write_light(folder, rows())
    return folder


@pytest.fixture(scope="module")
def calibrated_once(tmp_path_factory):
    folder = write_arrays(tmp_path_factory.mktemp("calibrated") / "model")
    write_light(folder, rows())
    return folder


@pytest.fixture
def calibrated(calibrated_once, tmp_path):
    """A folder that a test may change, with the ranges of `rows`."""
    return shutil.copytree(calibrated_once, tmp_path / "model")


def light_engines(folder):
    """Each engine that a model starts with."""
    light, whole = LightFile(folder), load_model(folder, build=Arrays)
    for part in (None, *whole.config.parts):
        model = whole if part is None else part_of(whole, part, Arrays)
        kind, variant = engine_class(model.config), "maskless" if part == "encoder" else "original"
        tokenizer = tokenizer_in(folder, whole.config)
        learned = getattr(model.config, "learned_normalizer", False)
        for normalizer in ("exact", "learned")[: 1 + learned]:
            for precision in ("float32", "int8"):
                options = EngineOptions(
                    precision=precision, pll_variant=variant, normalizer=normalizer
                )
                yield kind(model, tokenizer, options, light=light)


def not_there():
    raise AssertionError("the file has no such graph")


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_the_graphs_of_shipped_models_are_those_that_are_built(folder):
    light = LightFile(folder)
    for engine in light_engines(folder):
        by_row = folder.name in ("bilm-small", "similarity-small")  # fixed ones do not hold
        assert engine.precision in ("float32", "int8" if by_row else engines.INT8_FIXED)
        built = graphs_of(engine)
        assert built
        assert by_row or "MatMulInteger" not in kinds(built)  # no product was forgotten
        for key, graph in built.items():
            assert light.graph(key, not_there) == graph, (engine.precision, engine.normalizer)


def test_every_shipped_model_that_onnxruntime_runs_is_calibrated():
    models = [path.parent.name for path in PRETRAINED.glob(f"*/{WEIGHTS}")]
    assert {folder.name for folder in SHIPPED} == {"small", *models} - {"elmo-s-small"}


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_weights_read_by_the_index_are_those_that_h5py_reads(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "h5py", None)
        first = load_model(folder, build=Arrays).arrays
    monkeypatch.setattr(weights, "_indexed", lambda path, index: None)
    second = load_model(folder, build=Arrays).arrays
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def test_a_start_needs_no_package_that_writes_graphs_or_reads_hdf5():
    """Graphs of int8 come ready for processors with VNNI; others build theirs."""
    int8 = [{"precision": "int8"}] if has_vnni() else []
    code = f"""
import sys, tta
for options in {[{}, {"normalizer": "learned"}, *int8]}:
    tta.load(engine="onnxruntime", **options).score(["the cat sat"])
print([name for name in ("onnx", "h5py", "tqdm", "scipy", "ml_dtypes") if name in sys.modules])
"""
    assert python(code).stdout.split("\n")[-2] == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("name", [x.name for x in SHIPPED if x.name != "nar-small"])  # no scores
def test_scores_of_shipped_models_in_int8_are_near_float32_for_odd_texts(name):
    exact, rounded = (
        tta.load(name, engine="onnxruntime", precision=precision)
        for precision in ("float32", "int8")
    )
    differences = np.abs(rounded.score(PROBES + ODD) - exact.score(PROBES + ODD))
    by_row = rounded.engine.precision == "int8"
    assert by_row or differences.max() <= LIMIT, (PROBES + ODD)[differences.argmax()]


ODD = (". . . .", "word " * 120, "no " * 120, "0 " * 17, "a" * 37, "1 2 3", "99 98 97")
CALIBRATED_ON = [["yes"], ["right", "left"] * 10, ["good morning"], ["4821"] * 200]


@pytest.mark.slow
@pytest.mark.parametrize("texts", CALIBRATED_ON)
def test_a_calibration_on_any_text_holds_odd_and_ordinary_texts(texts, tmp_path):
    folder = shutil.copytree(BUILT_IN, tmp_path / "model")
    (note,) = write_light(folder, texts).notes
    assert re.fullmatch(
        r"int8 with fixed ranges changes scores by [\d.]+ nats on the text .*", note
    )
    exact, rounded = (
        tta.load(folder, engine="onnxruntime", precision=precision)
        for precision in ("float32", "int8")
    )
    assert rounded.engine.ranges
    differences = np.abs(rounded.score(PROBES + ODD) - exact.score(PROBES + ODD))
    assert differences.max() <= LIMIT


def test_what_fixed_ranges_do_not_hold_gets_a_range_for_each_row(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "LIMIT", 0.0)
    folder = write_arrays(tmp_path / "model")
    (note,) = write_light(folder, rows()).notes
    assert note.endswith("more than 0.0: each row has a range of its own, which is slower")
    assert tta.load(folder, engine="onnxruntime", precision="int8").engine.precision == "int8"


def test_sentences_that_repeat_themselves_or_are_spelled_out_are_exact(directory):
    exact, rounded = (
        tta.load(directory, engine="onnxruntime", precision=precision)
        for precision in ("float32", "int8")
    )
    texts = ["the the the", "the cat sat", ". . . . .", "s" + "sssssss"]
    same = rounded.score(texts) == exact.score(texts)
    assert same.tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("pieces", "odd"),
    [
        (["the"] * 3, True),
        (["the", "cat"] * 3, True),
        (["the", "cat"] * 2, False),
        ([], False),
        (["the"], False),
        (["##s", *"abcdefg"], False),
        (["the", *["##s"] * 7], True),
        (["the", "a", "b", "c", *["##s"] * 4], False),  # not most of them
        ([*"abcdef", "the", *["##s"] * 8, ".", ","], False),
    ],
)
def test_odd_sentences(pieces, odd):
    ids = [TOKENS.index(one) for one in ("[SOS]", *pieces, "[EOS]")]
    continues_word = np.array([token.startswith("##") for token in TOKENS])
    batch = np.zeros((2, len(ids) + 3), np.int32)
    batch[:, : len(ids)] = ids
    found = are_odd(batch, np.arange(len(batch[0])) < np.array([[len(ids)]] * 2), continues_word)
    assert found.tolist() == [odd, odd]
    assert not are_odd(batch[:, :3], np.zeros((2, 3), bool), None).any()


def packed(size):
    packer = zlib.compressobj(9)
    block = bytes(1 << 20)
    return b"".join([*(packer.compress(block) for _ in range(size >> 20)), packer.flush()])


GRAPHS = {
    "no zlib": np.zeros(9, np.uint8),
    "empty": np.zeros(0, np.uint8),
    "floats": np.zeros(9, np.float32),
    "cut": np.frombuffer(zlib.compress(b"graph" * 99)[:-8], np.uint8),
    "empty when unpacked": np.frombuffer(zlib.compress(b""), np.uint8),
    "a bomb": np.frombuffer(packed(1 << 28), np.uint8),
}


@pytest.mark.parametrize("array", GRAPHS.values(), ids=GRAPHS)
def test_a_graph_that_is_none_is_one_line(array, tmp_path):
    write_checkpoint(tmp_path / LIGHT, {"graph/k": array})
    with pytest.raises(InputError, match=r"graph/k is not a packed graph of at most .*; tta calib"):
        LightFile(tmp_path).graph("k", not_there)


RANGES = {
    "integers": lambda array: array.astype(np.int32),
    "of another size": lambda array: array[:-1],
    "a matrix": lambda array: array[None],
    "not finite": lambda array: array * np.float32(np.nan),
    "upside down": lambda array: array * np.float32(-1),
}


@pytest.mark.parametrize("change", RANGES.values(), ids=RANGES)
def test_a_range_that_is_none_is_one_line(change, calibrated):
    folder = calibrated
    arrays = LightFile(folder).arrays
    name = next(name for name in arrays if name.endswith("layer_0/attention/output/kernel"))
    write_checkpoint(folder / LIGHT, arrays | {name: change(arrays[name])})
    with pytest.raises(InputError, match="is not a range of the inputs of these products; tta cal"):
        tta.load(folder, engine="onnxruntime", precision="int8")


@pytest.mark.parametrize(
    "content", [b"no graph", b"\x08\x09", None], ids=["text", "cut", "another"]
)
def test_a_packed_graph_that_is_not_the_models_is_one_line(content, calibrated):
    folder = calibrated
    arrays = LightFile(folder).arrays
    names = [name for name in arrays if name.startswith("graph/")]
    if content is None:
        graph = Graph()
        x = graph.input("x", np.float32, ["rows"])
        content = graph.output("y", x + x).model().SerializeToString()
    other = np.frombuffer(zlib.compress(content), np.uint8)
    write_checkpoint(folder / LIGHT, arrays | dict.fromkeys(names, other))
    rule = "one of its graphs is that of another model|onnxruntime cannot start its graph"
    with pytest.raises(InputError, match=f"light.safetensors: ({rule}).*; tta calibrate") as caught:
        tta.load(folder, engine="onnxruntime").score(TEXTS)
    assert "\n" not in str(caught.value)


def test_scores_in_int8_do_not_depend_on_the_batch(directory):
    lm = tta.load(directory, engine="onnxruntime", precision="int8")
    assert "|precision:int8-fixed|engine:onnxruntime|" in lm.signature
    together = lm.score(TEXTS)
    # On processors without VNNI, kernels for few rows differ in the last bit.
    np.testing.assert_allclose(together, [lm.score([text])[0] for text in TEXTS], rtol=1e-6)
    difference = np.abs(together - tta.load(directory, engine="onnxruntime").score(TEXTS))
    assert 0 < difference.max() < 3


def graphs_of(engine):
    """{key: graph} of what an engine starts with, none of which it finds."""
    found, engine._light = {}, LightFile()
    engine._light.graph = lambda key, make: found.setdefault(key, make())
    engine.usual()
    return found


def kinds(graphs):
    made = [onnx.load_model_from_string(graph) for graph in graphs.values()]
    return {node.op_type for model in made for node in model.graph.node}


def test_without_vnni_rows_have_scales_of_their_own(directory, monkeypatch):
    in_int8 = EngineOptions(precision="int8")
    assert "MatMulInteger" not in kinds(graphs_of(load_onnx(directory, in_int8)))
    monkeypatch.undo()
    monkeypatch.setenv("TTA_VNNI", "0")
    engine = load_onnx(directory, in_int8)
    assert engine.precision == "int8"
    found = kinds(graphs_of(engine))
    assert "MatMulInteger" in found
    assert "MatMulIntegerToFloat" not in found


def test_ranges_of_other_weights_are_refused(calibrated_once, tmp_path):
    folder = write_arrays(tmp_path / "model", seed=1)
    shutil.copy(calibrated_once / LIGHT, folder / LIGHT)
    rule = r"light.safetensors: its ranges for int8 belong to other weights; tta calibrate writes"
    with pytest.raises(InputError, match=rule) as caught:
        tta.load(folder, engine="onnxruntime", precision="int8")
    assert "\n" not in str(caught.value)
    # Nobody asked for int8, and the index is that of other weights.
    scores = tta.load(folder, engine="onnxruntime").score(TEXTS)
    (folder / LIGHT).unlink()
    np.testing.assert_array_equal(tta.load(folder, engine="onnxruntime").score(TEXTS), scores)


def test_a_graph_of_another_version_or_config_is_built_anew(calibrated, monkeypatch):
    folder = calibrated

    def found():
        return graphs_of(load_onnx(folder))

    light, old = LightFile(folder), found()
    assert all(light.graph(key, not_there) == graph for key, graph in old.items())
    # What the functions compute changes: another activation.
    gelu = OnnxKit.activation
    monkeypatch.setattr(OnnxKit, "activation", lambda k, x, name: gelu(k, x, "relu"))
    assert not {*found()} & {*old}
    assert "Relu" in kinds(graphs_of(load_onnx(folder)))
    monkeypatch.undo()
    monkeypatch.setattr(graphs, "_WRITER", graphs._WRITER + 1)
    assert not {*found()} & {*old}


def test_a_damaged_file_is_refused_in_one_line(calibrated):
    whole = (calibrated / LIGHT).read_bytes()
    (calibrated / LIGHT).write_bytes(whole[:-1])
    rule = r"light\.safetensors: not a readable safetensors file.*; tta calibrate writes"
    with pytest.raises(InputError, match=rule) as caught:
        tta.load(calibrated, engine="onnxruntime")
    assert "\n" not in str(caught.value)
    write_light(calibrated, rows())  # makes it anew
    tta.load(calibrated, engine="onnxruntime")


def test_damaged_weights_are_found_with_an_index(calibrated):
    content = bytearray((calibrated / WEIGHTS).read_bytes())
    content[len(content) // 2] ^= 1
    (calibrated / WEIGHTS).write_bytes(content)
    with pytest.raises(InputError, match=r"model\.weights\.h5"):
        tta.load(calibrated, engine="onnxruntime")


def test_other_vocabularies_are_found_with_an_index(calibrated):
    text = (calibrated / VOCABULARY).read_text().replace("cat\n", "cot\n")
    (calibrated / VOCABULARY).write_text(text)
    with pytest.raises(InputError, match="damaged or changed since its weights were saved"):
        tta.load(calibrated, engine="onnxruntime")


# A product of 7 rows, 5 inputs and 3 outputs.
ROWS = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32) * [9, 1, 1, 0.1, 1]
KERNEL = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
BIAS = np.arange(3, dtype=np.float32)


def twin(x, given):
    """The fused product, as its formula says, in float64."""
    (low, high), divisors = given[:2], given[2:]
    width, apart = max(high - low, 1e-30) / 255, divisors == 0
    zero = np.clip(np.rint(-low / width), 0, 255)
    scaled = x / np.where(apart, np.inf, divisors)
    inputs = (np.clip(np.rint(scaled / width) + zero, 0, 255) - zero) * width
    kernel = KERNEL * divisors[:, None].astype(np.float64)
    scales = np.abs(kernel).max(axis=0) / 127
    exact = x[:, apart].astype(np.float64) @ KERNEL[apart]
    return exact + inputs @ (np.rint(kernel / scales) * scales) + BIAS


@pytest.mark.parametrize(
    "given",
    [
        fit(ROWS, np.abs(KERNEL).max(axis=1)),
        fit(ROWS),
        np.array([0, 4, 1, 1, 1, 1, 1], np.float32),  # all below 0 is cut off, and all above 4
        np.array([0, 0, 1, 1, 1, 1, 1], np.float32),
        np.array([-1, 1.3, 0, 1, 1, 0, 1], np.float32),
        np.array([-1, 1.3, 0, 2, 3, 0, 1], np.float32),
    ],
    ids=["smoothed", "not smoothed", "one side", "nothing", "apart", "smoothed and apart"],
)
def test_the_fused_product(given):
    graph, arrays = Graph(), {"a/kernel": KERNEL, "a/bias": BIAS}
    x = graph.input("x", np.float32, ["rows", 5])
    of = Weights(graph, arrays, "a/", (), {"a/kernel": given})
    session = Session(graph.output("y", OnnxKit().dense(x, of)))
    found = session(x=ROWS.astype(np.float32))
    np.testing.assert_allclose(found, twin(ROWS, given), atol=2e-5)


def test_products_of_one_input_round_it_once():
    graph, names = Graph(), ("a", "b")
    arrays = {f"{n}/kernel": KERNEL for n in names} | {f"{n}/bias": BIAS for n in names}
    x, given = graph.input("x", np.float32, ["rows", 5]), fit(ROWS)
    of = Weights(graph, arrays, "", (), {f"{n}/kernel": given for n in names})
    kit = OnnxKit()
    sums = kit.dense(x, of.of("a")) + kit.dense(x, of.of("b"))
    kinds = [node.op_type for node in graph.output("y", sums).model().graph.node]
    assert kinds.count("QuantizeLinear") == 1


@pytest.mark.parametrize(
    ("highest", "small"),
    [
        ([-3.0, 20.0], True),
        ([-3.0, 50.0], False),  # exp of it may be infinite
        ([-50.0, 0.0], False),  # sums may be 0
    ],
)
def test_small_logits_need_no_maximum(highest, small):
    assert are_small(np.array(highest)) is small


def test_the_built_in_model_takes_no_maximum_and_has_no_probability_above_1():
    lm = tta.load(engine="onnxruntime", precision="int8")
    assert LOGITS in lm.engine.ranges
    texts = ["the " * 40, "new york new york new york", "it was it was it was it was it was"]
    exact = tta.load(engine="onnxruntime").score_tokens(texts)
    for one, other in zip(lm.score_tokens(texts), exact, strict=True):
        assert one.log_probabilities.max() <= 0
        assert np.square(one.log_probabilities - other.log_probabilities).mean() < 0.15**2


@pytest.mark.parametrize(
    "index",
    [
        b"",
        b"{}",
        b"[1]",
        b"[7, {}, {}]",
        b'[CRC, {"a": ["<f2", [4], [2], [[0, 99999999]]]}, {}]',
        b'[CRC, {"a": ["<f2", [4], [2], [[0, 0]]]}, {}]',
        b'[CRC, {"a": ["<f2", [99999999999999], [1], []]}, {}]',
        b"[CRC, {}, []]",
        b"[" * 99_999,
    ],
)
def test_an_index_that_is_wrong_is_not_used(index, tmp_path):
    folder = write_arrays(tmp_path / "model")
    scores = tta.load(folder, engine="onnxruntime").score(TEXTS)
    crc = zlib.crc32((folder / WEIGHTS).read_bytes())
    LightFile().write(folder)
    arrays = LightFile(folder).arrays
    assert INDEX in arrays
    changed = np.frombuffer(index.replace(b"CRC", b"%d" % crc), np.uint8)
    write_checkpoint(folder / LIGHT, {**arrays, INDEX: changed})
    np.testing.assert_array_equal(tta.load(folder, engine="onnxruntime").score(TEXTS), scores)


def test_an_export_in_int8_has_the_scores_of_the_engine(calibrated_once, tmp_path):
    lm = tta.load(calibrated_once, engine="onnxruntime", precision="int8", unknown="model")
    signature = export_folder(lm, tmp_path / "out", "onnx", "token", "mean")
    assert "|precision:int8-fixed|engine:onnxruntime|" in signature
    ids = np.array([[3, *lm.tokenizer.encode([TEXTS[1]])[0], 1]], np.int32)
    given = {"input_ids": ids, "padding_mask": ids >= 0, "wanted": ids >= 5}
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")  # as the engine's
    session = onnxruntime.InferenceSession(tmp_path / "out/scores.onnx", options)
    (found,) = session.run(None, given | {"characters": np.zeros((*ids.shape, 1), np.int32)})
    np.testing.assert_allclose(found.sum(), lm.score([TEXTS[1]])[0], atol=1e-4)


def test_the_channels_that_are_largest_are_apart():
    rows = np.random.default_rng(0).uniform(0, 1, (50, 131))
    rows[7, [3, 100]] = 90, 80
    low, high, *divisors = fit(rows)
    assert low == 0
    assert 0.9 < high < 1
    assert np.flatnonzero(np.equal(divisors, 0)).tolist() == [3, 100]


def test_texts_are_calibrated_with_begin_and_end_token(tmp_path):
    folder = write_arrays(tmp_path / "model")
    found = []
    for sentences in (["the cat sat", "a dog"], [[3, 5, 6, 8, 1], [3, 17, 7, 1]]):
        write_light(folder, [x if isinstance(x, str) else np.array(x, np.int32) for x in sentences])
        found.append(LightFile(folder).arrays)
    assert found[0].keys() == found[1].keys()
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], err_msg=name)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda folder: (folder / VOCABULARY).unlink(), "the model has no vocab.txt"),
        (lambda folder: None, "no text to calibrate"),
    ],
)
def test_what_cannot_be_calibrated(change, rule, tmp_path):
    folder = write_arrays(tmp_path / "model")
    change(folder)
    with pytest.raises(InputError, match=rule):
        write_light(folder, [])
    assert not (folder / LIGHT).exists()
