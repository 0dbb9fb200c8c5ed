"""The network over characters as a file: NumPy computes what the layer of an ELMo does."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from tta.errors import InputError
from tta.names import CHARACTER_NETWORK
from tta.papers.semfit.vectors.character_network import CharacterNetwork, network_bytes, spell

SIZE, CHARACTER, FILTERS = 3, 5, {1: 2, 4: 7}


def tiny(**changes):
    """The weights of a network with 9 filters."""
    rng, number = np.random.default_rng(0), sum(FILTERS.values())
    shapes = {"characters": (262, CHARACTER), "projection/kernel": (number, SIZE)}
    shapes |= {"projection/bias": (SIZE,)}
    for width, count in FILTERS.items():
        shapes |= {f"filters_{width}/kernel": (width, CHARACTER, count)}
        shapes |= {f"filters_{width}/bias": (count,)}
    for layer in ("highway_0", "highway_1"):
        for part in ("gate", "transform"):
            shapes |= {
                f"{layer}/{part}/kernel": (number, number),
                f"{layer}/{part}/bias": (number,),
            }
    made = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {name: array for name, array in (made | changes).items() if array is not None}


def written(folder, weights):
    (folder / CHARACTER_NETWORK).write_bytes(network_bytes(weights))
    return CharacterNetwork(folder)


def plain_vector(weights, word):
    """One word, one filter position after the other."""
    w = {name: array.astype(np.float16).astype(float) for name, array in weights.items()}
    letters = w["characters"][spell(word.encode())]
    x = []
    for width in FILTERS:
        kernel, bias = w[f"filters_{width}/kernel"], w[f"filters_{width}/bias"]
        found = [np.einsum("wc,wcf->f", letters[i : i + width], kernel) for i in range(51 - width)]
        x.extend(np.maximum(np.max(found, axis=0) + bias, 0))
    x = np.array(x)
    for layer in ("highway_0", "highway_1"):
        gate, new = (
            x @ w[f"{layer}/{part}/kernel"] + w[f"{layer}/{part}/bias"]
            for part in ("gate", "transform")
        )
        gate = 1 / (1 + np.exp(-gate))
        x = gate * x + (1 - gate) * np.maximum(new, 0)
    return x @ w["projection/kernel"] + w["projection/bias"]


def test_vectors_are_those_of_a_plain_computation(tmp_path):
    network = written(tmp_path, tiny())
    words = ["Gwynedd", "a", "naïve", "x" * 60, "日本語"] * 20  # more than a block
    found = network.vectors(words)
    assert (found.shape, found.dtype, network.size) == ((100, SIZE), np.float32, SIZE)
    for word, vector in list(zip(words, found, strict=True))[:5]:
        np.testing.assert_allclose(vector, plain_vector(tiny(), word), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found[-5:], found[:5], rtol=1e-5)
    assert network.vectors([]).shape == (0, SIZE)


@pytest.mark.tensorflow
def test_it_is_the_input_layer_of_an_elmo(tmp_path):
    from tta.papers.semfit.config import ElmoConfig
    from tta.papers.semfit.inputs import CharacterInput

    config = ElmoConfig(
        vocab_size=9, hidden_size=7, input_layer="characters", output_layer="softmax"
    )
    layer = CharacterInput(config, name="embeddings")
    layer.build()
    weights = {v.path.removeprefix("embeddings/"): np.asarray(v) for v in layer.weights}
    words = ["wug", "Gwynedd", "zyx"]
    characters = np.stack([spell(word.encode()) for word in words])[None]
    expected = np.array(layer({"characters": characters}))[0]
    found = written(tmp_path, weights).vectors(words)
    np.testing.assert_allclose(found, expected, rtol=0.01, atol=0.01 * np.abs(expected).max())
    assert np.abs(found[0] - found[2]).max() > 0.05 * np.abs(found).max()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"characters": None}, "not the network over characters of an ELMo: characters does not"),
        ({"characters": np.zeros((9, 5), np.float32)}, "characters does not fit"),
        ({"characters": np.zeros(9, np.float32)}, "characters does not fit"),
        ({"filters_4/bias": np.zeros(3, np.float32)}, "filters_4/bias does not fit"),
        ({"filters_4/kernel": np.zeros((51, 5, 7), np.float32)}, "filters_4/kernel does not fit"),
        ({"filters_4/kernel": np.zeros(4, np.float32)}, "filters_4/bias does not fit"),
        ({"highway_1/gate/bias": None}, "highway_1/gate/bias does not fit"),
        ({"projection/kernel": np.zeros((9, 2), np.float32)}, "projection/kernel does not fit"),
        ({"projection/bias": None}, "does not fit"),
        ({"more": np.zeros(1, np.float32)}, "more does not fit"),
        ({"characters": np.full((262, 5), np.nan, np.float32)}, "characters must be finite"),
        ({"characters": np.zeros((262, 5), np.int32)}, "must be finite numbers of type float16"),
    ],
)
def test_what_is_no_network_is_one_line(changes, rule, tmp_path):
    path = tmp_path / CHARACTER_NETWORK
    save_file(tiny(**changes), path)
    with pytest.raises(InputError, match=rule) as error:
        CharacterNetwork(tmp_path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("contents", [b"", b"x" * 99, network_bytes(tiny())[:-9]])
def test_a_damaged_or_missing_file_is_one_line(contents, tmp_path):
    with pytest.raises(InputError, match="no such file; tta create-vectors writes it"):
        CharacterNetwork(tmp_path)
    (tmp_path / CHARACTER_NETWORK).write_bytes(contents)
    with pytest.raises(InputError, match="not a readable safetensors file"):
        CharacterNetwork(tmp_path)


def test_sizes_and_numbers_that_do_not_fit(tmp_path):
    network = written(tmp_path, tiny())
    network.check_size(SIZE)
    with pytest.raises(InputError, match="its vectors have 3 numbers, but those of words have 5"):
        network.check_size(5)
    with pytest.raises(InputError, match="weight projection/bias has a number that float16 cannot"):
        network_bytes(tiny(**{"projection/bias": np.full(3, 1e6, np.float32)}))
