"""Every encoder gives the states of Keras in every other kit, and hides a token from itself."""

import inspect
import re

import numpy as np
import pytest

from tests.modeling.tiny import batch, of_core, tiny_model
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.config.weights import named
from tta.modeling.functions.encoders import optional_inputs
from tta.modeling.functions.kit import Kit
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.onnx.graph import Graph
from tta.modeling.kits.onnx.kit import OnnxKit
from tta.modeling.kits.onnx.weights import Weights
from tta.scoring.engines.onnxruntime.session import Session

FAMILIES = {
    "tta": {"first_query_token_id": 4},
    "bilm": {"hidden_act": "gelu_tanh"},
    "unilm": {"hidden_act": "relu"},
    "cloze": {"num_tower_layers": 2, "norm_first": True, "max_relative_distance": 3},
}
HIDE_THEMSELVES = {"tta", "cloze"}  # whose tokens do not see themselves
WORDS = np.array([[0, 1, 1, 2, 3, 3, 4]] * 2, np.int32)


def test_every_family_has_a_row():
    encoders = {name for name in of_core(MODEL_TYPES) if MODEL_TYPES[name].encoder}
    assert encoders == set(FAMILIES)


def keras_states(model, encode):
    return lambda **inputs: np.asarray(model.encode(inputs)["hidden_states"])


def onnx_states(model, encode):
    arrays = {name: np.asarray(v) for name, v in model.named_weights().items()}
    graph, kinds = Graph(), {"input_ids": np.int32, "padding_mask": np.bool_, "word_ids": np.int64}
    takes = {"input_ids", "padding_mask", *optional_inputs(encode)} & kinds.keys()
    given = {name: graph.input(name, kinds[name], ("batch", "tokens")) for name in sorted(takes)}
    ids, mask = given.pop("input_ids"), given.pop("padding_mask")
    kit, weights = OnnxKit(), Weights(graph, arrays).of("encoder")
    found = encode(kit, weights, model.config, ids, mask, **given)
    session = Session(graph.output("states", found["hidden_states"]))
    return lambda **inputs: session(**{n: x.astype(kinds[n]) for n, x in inputs.items()})


def torch_states(model, encode, dtype="float32"):
    import torch

    from tta.modeling.kits.torch import Part, TorchKit

    part = Part({name: weight.shape for name, weight in named(model.config.encoder_weights)})
    values = {n: torch.tensor(np.asarray(v)) for n, v in model.named_weights().items()}
    part.load_state_dict(
        {
            n.removeprefix("encoder/").replace("/", ".") + ".weight" * n.endswith("_table"): value
            for n, value in values.items()
            if n.startswith("encoder/")
        }
    )

    part.to(getattr(torch, dtype))

    def states(input_ids, padding_mask, **more):
        kit = TorchKit(model.config.layer_norm_eps, next(part.parameters()))
        inputs = (torch.tensor(one) for one in (input_ids, padding_mask))
        more = {name: torch.tensor(value) for name, value in more.items()}
        with torch.no_grad():
            return encode(kit, part, model.config, *inputs, **more)["hidden_states"].numpy()

    return states


@pytest.mark.parametrize(
    "states_of",
    [onnx_states, pytest.param(torch_states, marks=pytest.mark.large)],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_states_are_the_same_and_no_token_is_in_its_own(family, states_of):
    model = tiny_model(model_type=family, num_hidden_layers=3, **FAMILIES[family])
    encode = MODEL_TYPES[family].part("encoder")
    inputs = batch([7, 4])
    if "word_ids" in optional_inputs(encode):
        inputs["word_ids"] = WORDS
    states, expected = states_of(model, encode), keras_states(model, encode)(**inputs)
    found, mask = states(**inputs), inputs["padding_mask"]
    np.testing.assert_allclose(found[mask], expected[mask], atol=1e-5, rtol=1e-5)
    for i in range(7):
        other = inputs["input_ids"].copy()
        other[:, i] = (other[:, i] + 1) % 23
        changed = states(**inputs | {"input_ids": other})
        hides_itself = family in HIDE_THEMSELVES
        assert (changed[0, i] == found[0, i]).all() == hides_itself
        assert (changed[0] != found[0]).any()


@pytest.mark.large
@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_in_torch_only_rounds_also_where_a_query_has_no_key(family):
    model, inputs = tiny_model(model_type=family, **FAMILIES[family]), batch([7, 1])
    encode, mask = MODEL_TYPES[family].part("encoder"), inputs["padding_mask"]
    exact = torch_states(model, encode)(**inputs)
    for dtype in ("float16", "bfloat16"):
        found = torch_states(model, encode, dtype)(**inputs)
        assert found.dtype == np.float32
        assert 0 < np.abs(found - exact)[mask].max() < 0.2


@pytest.fixture(params=["keras", "onnx", pytest.param("torch", marks=pytest.mark.large)])
def kit(request):
    if request.param == "torch":
        from tta.modeling.kits.torch import TorchKit

        return TorchKit
    return {"keras": KerasKit, "onnx": OnnxKit}[request.param]


def test_a_kit_has_every_method_of_the_base_with_its_arguments(kit):
    methods = {name: one for name, one in vars(Kit).items() if inspect.isfunction(one)}
    methods = {name: one for name, one in methods.items() if not name.startswith("_")}
    named = re.findall(r"(\w+)(?: \([^)]*\))?[,.]", Kit.__doc__.partition(":")[2])
    assert {"where", "exp", "take"} <= set(named)
    assert set(named) | set(methods) == {name for name in dir(kit) if not name.startswith("_")}
    for name, method in methods.items():
        is_of_keras = (
            name in ("softplus", "arange") or "args" in inspect.signature(method).parameters
        )
        if not is_of_keras:
            given = [
                list(inspect.signature(one).parameters) for one in (method, getattr(kit, name))
            ]
            assert given[0] == given[1], name
