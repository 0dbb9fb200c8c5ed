"""The autoencoder: what its decoders may see, where the latent vector gets in, greedy decoding."""

import json

import numpy as np
import pytest
from keras import ops

from tests.modeling import numpy_tta
from tests.modeling.tiny import arrays, batch, randomize, tiny_config
from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.modeling.functions import layers
from tta.modeling.models.language_model import build_model
from tta.papers.nar.config import AutoencoderConfig
from tta.papers.nar.model import _highest

pytestmark = pytest.mark.tensorflow

LATENT = 7
TYPES = {  # name -> the decoder
    "pad": {"decoder_type": "bilm", "decoder_input": "pad"},
    "copy": {"decoder_type": "bilm", "decoder_input": "ground_truth"},
    "tta": {"decoder_type": "tta", "decoder_input": "ground_truth"},
    "unilm": {"decoder_type": "unilm", "decoder_input": "ground_truth"},
}


def autoencoder_config(**changes):
    values = {"model_type": "autoencoder", "latent_size": LATENT, "pad_id": 2}
    return AutoencoderConfig.from_dict(tiny_config().to_dict() | values | changes)


def make(kind, dtype="float32", seed=0, **changes):
    model = build_model(autoencoder_config(**TYPES[kind] | changes), dtype)
    randomize(model.named_weights(), seed)
    return model


@pytest.fixture(scope="module")
def models():
    return {kind: make(kind) for kind in TYPES}


def unbiased(model):
    """The model without biases in the head: with random ones, one token is the best everywhere."""
    for name, variable in model.named_weights().items():
        if name.startswith("head/") and name.endswith(("bias", "beta")):
            variable.assign(np.zeros(variable.shape))
    return model


def latent_of(count, seed=5, numbers=LATENT):
    return np.random.default_rng(seed).normal(size=(count, numbers)).astype(np.float32)


def logits(model, latent, mask, ids=None):
    return np.array(model.head(model.decode(latent, mask, ids), model.token_table))


def changed(ids, place):
    other = ids.copy()
    other[0, place] = (other[0, place] + 1) % 23
    return other


@pytest.mark.parametrize("decoder_type", ["bilm", "tta"])
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_with_pad_the_output_depends_on_no_token_and_on_no_padding(dtype, decoder_type):
    model = make("pad", dtype, decoder_type=decoder_type)
    wide, other = batch([7], width=11), batch([7], width=11, seed=1)
    z = latent_of(1)
    found = logits(model, z, wide["padding_mask"], wide["input_ids"])
    np.testing.assert_array_equal(found, logits(model, z, wide["padding_mask"], other["input_ids"]))
    np.testing.assert_array_equal(found, logits(model, z, wide["padding_mask"]))
    narrow = logits(model, z, np.ones((1, 7), bool))
    np.testing.assert_allclose(found[:, :7], narrow, atol=1e-5 if dtype == "float32" else 0.05)
    assert np.abs(found - logits(model, z + 1, wide["padding_mask"])).max() > 1e-2


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("layers", [1, 3])
def test_a_tta_decoder_cannot_copy_not_by_one_bit(dtype, layers):
    model = make("tta", dtype, num_hidden_layers=layers)
    inputs, z = batch([7, 5]), latent_of(2)
    given = inputs["padding_mask"], inputs["input_ids"]
    before = logits(model, z, *given)
    for place in range(7):
        after = logits(model, z, given[0], changed(given[1], place))
        np.testing.assert_array_equal(after[0, place], before[0, place])
        for other in set(range(7)) - {place}:
            assert (after[0, other] != before[0, other]).any(), (place, other)
        np.testing.assert_array_equal(after[1], before[1])
    other_latent = logits(model, z + 1, *given)
    assert (other_latent != before).any(axis=-1).all(), "the latent vector reaches every place"


def test_a_bilm_decoder_sees_the_token_it_predicts_and_a_unilm_only_those_before(models):
    inputs, z = batch([7]), latent_of(1)
    given = inputs["padding_mask"], inputs["input_ids"]
    for kind, sees in (("copy", lambda i, j: True), ("unilm", lambda i, j: j < i)):
        before = logits(models[kind], z, *given)
        for place in range(7):
            after = logits(models[kind], z, given[0], changed(given[1], place))
            seen = (after != before).any(axis=-1)[0]
            assert seen.tolist() == [sees(i, place) for i in range(7)], kind


@pytest.mark.parametrize("kind", TYPES)
def test_the_latent_vector_depends_on_every_real_token_and_nothing_else(models, kind):
    inputs = batch([7, 5], width=9)
    encode = lambda ids: np.array(  # noqa: E731
        models[kind].encode_latent(inputs | {"input_ids": ids})["mean"]
    )
    before = encode(inputs["input_ids"])
    for place in range(9):
        after = encode(changed(inputs["input_ids"], place))
        assert (after[0] != before[0]).any() == (place < 7), place
        np.testing.assert_array_equal(after[1], before[1])


def test_the_latent_vector_is_a_product_of_the_encoders_first_state(models):
    inputs = batch([7, 5])
    model, variational = models["pad"], make("pad", variational=True)
    for one in (model, variational):
        state = np.array(one.encode(inputs)["hidden_states"])[:, 0]
        expected = state @ arrays(one)["connector/kernel"]
        found = one.encode_latent(inputs)
        np.testing.assert_allclose(found["mean"], expected[:, :LATENT], atol=1e-5)
        if one is variational:
            np.testing.assert_allclose(found["log_variance"], expected[:, LATENT:], atol=1e-5)
        assert len(found) == 1 + (one is variational)


def plain_decoder(w, config, kind, latent, ids):
    """The decoder in NumPy, one sentence: row i predicts token i (for "unilm", token i + 1)."""
    part, norm = numpy_tta.below(w, "decoder"), ("gamma", "beta")
    norm = [part[f"embeddings/norm/{name}"] for name in norm]
    added = latent @ w["latent_inputs/added_kernel"]
    positions = part["embeddings/position_table"][: len(ids)]
    ids = np.full_like(ids, config.pad_id) if kind == "pad" else ids
    x = numpy_tta.layer_norm(part["embeddings/token_table"][ids] + positions + added, *norm)
    query = numpy_tta.layer_norm(positions + added, *norm) if kind == "tta" else x
    memory = np.zeros((0, config.hidden_size))
    if config.num_latents > 1:
        memory = latent.reshape(config.num_latents, -1) @ w["latent_inputs/memory_kernel"]
    keys = list(range(len(memory) + len(ids)))
    visible = numpy_tta.others if kind == "tta" else lambda *_: keys
    for layer in range(config.num_hidden_layers):
        query = query + added * (layer > 0)
        weights = numpy_tta.below(part, f"layer_{layer}")
        stream = x if kind == "tta" else np.vstack([memory, query])
        query = numpy_tta.block(query, stream, weights, config.num_attention_heads, visible)
    return query


def plain_memory_attention(w, layer, latent, x, heads):
    """The attention of the last row of x [T, D], which sees all rows and the memory: [D]."""
    w_layer = numpy_tta.below(w, f"decoder/layer_{layer}/attention")
    size = x.shape[1]
    memory = (latent @ w["latent_inputs/memory_kernel"])[layer * size : (layer + 1) * size]
    q, k, v = (x @ w_layer[f"{n}/kernel"] + w_layer[f"{n}/bias"] for n in ("query", "key", "value"))
    k, v, found = np.vstack([memory, k]), np.vstack([memory, v]), np.zeros(size)
    for head in np.split(np.arange(size), heads):
        found[head] = numpy_tta.attend(q[-1, head], k[:, head], v[:, head])
    return found @ w_layer["output/kernel"] + w_layer["output/bias"]


@pytest.mark.parametrize("kind", ["pad", "copy", "tta"])
def test_the_decoder_is_the_formula_of_the_paper(kind):
    model, z, inputs = make(kind, num_hidden_layers=3), latent_of(1), batch([6])
    expected = plain_decoder(
        arrays(model), model.config, kind, z[0].astype(np.float64), inputs["input_ids"][0]
    )
    found = model.decode(z, inputs["padding_mask"], inputs["input_ids"])
    np.testing.assert_allclose(found[0], expected, atol=1e-4)


def test_with_several_latents_every_place_attends_to_each():
    model, inputs = make("pad", num_latents=3), batch([6, 4])
    z = latent_of(2, numbers=3 * LATENT)
    found = np.array(model.decode(z, inputs["padding_mask"]))
    for row, latent, length in zip(found, z.astype(float), [6, 4], strict=True):
        ids = np.zeros(length, int)
        expected = plain_decoder(arrays(model), model.config, "pad", latent, ids)
        np.testing.assert_allclose(row[:length], expected, atol=1e-4)


def test_several_latents_are_products_of_the_pooled_states():
    inputs = batch([7, 5], width=9)
    for variational in (False, True):
        model = make("pad", num_latents=3, variational=variational)
        w, states = arrays(model), np.array(model.encode(inputs)["hidden_states"])
        found = {name: np.array(value) for name, value in model.encode_latent(inputs).items()}
        assert len(found) == 1 + variational
        for text, (row, length) in enumerate(zip(states, [7, 5], strict=True)):
            row = row[:length].astype(float)
            pooled = [numpy_tta.attend(query, row, row) for query in w["pooling/queries"]]
            expected = np.array(pooled) @ w["connector/kernel"]
            for name, part in zip(found, np.split(expected, 1 + variational, axis=1), strict=True):
                np.testing.assert_allclose(found[name][text], part.ravel(), atol=1e-4)
        outputs = model(inputs)
        assert outputs["latent"].shape == (2, 3 * LATENT)


def test_a_unilm_attends_to_its_memory(monkeypatch):
    model, z, inputs = make("unilm", num_hidden_layers=3), latent_of(1), batch([6])
    w, attended, attention = arrays(model), [], layers.attention

    def recorded(kit, weights, x, *inputs, **options):
        found = attention(kit, weights, x, *inputs, **options)
        attended.append((np.array(x[0], np.float64), np.array(found)[0]))
        return found

    monkeypatch.setattr(layers, "attention", recorded)
    added = model.decoder_inputs(z)
    np.testing.assert_allclose(
        added["added"][0, 0], z[0] @ w["latent_inputs/added_kernel"], atol=1e-5
    )
    model.decoder(inputs | added)
    assert len(attended) == 3
    for layer, (x, found) in enumerate(attended):
        expected = plain_memory_attention(w, layer, z[0].astype(np.float64), x, 3)
        np.testing.assert_allclose(found[-1], expected, atol=1e-4)


def test_only_the_training_of_a_variational_model_draws(models):
    inputs = batch([7, 5])
    for model, draws in ((models["pad"], False), (make("pad", variational=True), True)):
        first, second = (np.array(model(inputs, training=True)["latent"]) for _ in range(2))
        assert (first != second).any() == draws
        kept = [np.array(model(inputs, training=False)["latent"]) for _ in range(2)]
        np.testing.assert_array_equal(*kept)
        np.testing.assert_array_equal(kept[0], model.encode_latent(inputs)["mean"])


def test_greedy_decoding_is_the_same_with_a_cache_and_reads_what_it_wrote(models):
    model, z = models["unilm"], latent_of(3)
    cached, plain = (
        np.array(model.decode_greedily(z, 9, 3, cached=cached)) for cached in (True, False)
    )
    np.testing.assert_array_equal(cached, plain)
    assert (cached[:, 0] == 3).all()
    assert len(np.unique(cached)) > 2
    best = logits(model, z, np.ones((3, 9), bool), cached).argmax(axis=-1)
    np.testing.assert_array_equal(best[:, 1:], cached[:, 1:])


def test_decoding_takes_one_call_and_greedy_decoding_one_per_token(models):
    counts = {}
    for kind in ("pad", "masked", "unilm"):
        model, calls = make("pad", decoder_input="masked") if kind == "masked" else make(kind), []
        target = "step" if kind == "unilm" else "call"
        original = getattr(model.decoder, target)
        counter = lambda *a, f=original, c=calls, **k: c.append(1) or f(*a, **k)  # noqa: E731
        object.__setattr__(model.decoder, target, counter)
        if kind == "pad":
            model.decode_at_once(latent_of(2), np.ones((2, 9), bool))
        elif kind == "masked":
            model.decode_in_passes(latent_of(2), np.ones((2, 9), bool), 4)
        else:
            model.decode_greedily(latent_of(2), 9, 3)
        counts[kind] = len(calls)
    assert counts == {"pad": 1, "masked": 4, "unilm": 8}


def plain_mask_predict(model, latent, length, passes):
    """Mask-Predict of one text in NumPy."""
    pad_id, n = model.config.pad_id, length - 1
    ids, scores, hidden = np.full(length, pad_id), np.zeros(length), set(range(1, length))
    for number in range(1, passes + 1):
        known = [pad_id if i == 0 or i in hidden else ids[i] for i in range(length)]
        states = model.decode(latent[None], np.ones((1, length), bool), known_ids=np.array([known]))
        found = numpy_tta.log_softmax(np.array(model.head(states, model.token_table))[0])
        for i in hidden if number > 1 else range(length):
            ids[i], scores[i] = found[i].argmax(), found[i].max()
        ranked = sorted(range(1, length), key=lambda i: scores[i])
        hidden = set(ranked[: n * (passes - number) // passes])
    return ids


def test_of_equal_logits_the_first_is_the_highest():
    values, places = _highest(ops.convert_to_tensor([[[1.0, 3.0, 3.0], [-0.0, 0.0, 0.0]]]))
    np.testing.assert_array_equal(values, [[3.0, 0.0]])
    np.testing.assert_array_equal(places, [[1, 0]])


@pytest.mark.parametrize("passes", [1, 2, 4])
def test_decoding_in_passes_is_mask_predict(passes):
    model, z = unbiased(make("pad", seed=1, decoder_input="masked")), latent_of(12)
    lengths = [9, 6, 1, *[8] * 9]
    mask = np.arange(9) < np.array(lengths)[:, None]
    found = np.array(model.decode_in_passes(z, mask, passes))
    for row, latent, length in zip(found, z, lengths, strict=True):
        expected = plain_mask_predict(model, latent, length, passes)
        np.testing.assert_array_equal(row[:length], expected)
    first = np.array(model.decode_at_once(z, mask))
    assert (found == first)[mask].all() == (passes == 1), "later passes must change something"


def test_the_config_survives_a_file(tmp_path):
    config = autoencoder_config(**TYPES["tta"], variational=True)
    config.to_json(tmp_path / "config.json")
    assert read_config(tmp_path / "config.json") == config
    assert config.part("decoder").model_type == "tta"
    assert config.part("encoder") == tiny_config(model_type="bilm")


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"latent_size": 0}, "latent_size must be at least 1, not 0"),
        ({"decoder_type": "elmo"}, "decoder_type must be bilm or tta or unilm, not 'elmo'"),
        ({"decoder_input": "x"}, "decoder_input must be pad or ground_truth or masked, not 'x'"),
        ({"decoder_type": "unilm"},
         "decoder_input must be ground_truth with decoder_type unilm, not 'pad'"),
        ({"decoder_input": "ground_truth", "predicts_length": True},
         "decoder_input must be pad or masked with predicts_length, not 'ground_truth'"),
        ({"decoder_input": "masked", "decoder_type": "tta"},
         "decoder_type must be bilm with masked input, not 'tta'"),
        ({"decoder_input": "masked", "variational": True},
         "variational must be false with masked input, not true"),
        ({"num_latents": 0}, "num_latents must be at least 1, not 0"),
        ({"num_latents": 2, "decoder_type": "tta"},
         "decoder_type must be bilm with num_latents above 1, not 'tta'"),
        ({"output_layer": "softmax"}, "output_layer must be tied_softmax with model_type autoenco"),
        ({"tokenizer": "words"}, "tokenizer must be word_pieces with model_type autoencoder, "),
        ({"num_segments": 2}, "num_segments must be 0 with model_type autoencoder, not 2"),
        ({"pad_id": 23}, "pad_id must be a token's id, not 23"),
        ({"variational": 1}, "variational must be of type bool"),
    ],
)  # fmt: skip
def test_a_broken_config_is_one_line(changes, rule, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(autoencoder_config().to_dict() | changes))
    with pytest.raises(InputError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}: {rule}")


def test_a_decoder_that_reads_the_tokens_needs_them(models):
    with pytest.raises(TypeError, match="needs input_ids"):
        models["tta"].decode(latent_of(1), np.ones((1, 5), bool))
