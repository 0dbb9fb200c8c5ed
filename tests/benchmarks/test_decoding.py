"""Decoding by the nearest neighbour: ranks over the whole vocabulary, and what is left out."""

import numpy as np
import pytest

from benchmarks.semfit.decoding import decoded, frequent_ranks, line, ranks_of, unit
from tests.tiny import CONFIG, TOKENS, make_model, of_family, write_model_directory


def test_ranks():
    scores = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0]])
    assert ranks_of(scores, np.array([1, 2], np.int32)).tolist() == [3, 1]
    assert frequent_ranks(np.array([4, 2, 4, 2, 2, 7])).tolist() == [2, 1, 2, 1, 1, 3]
    assert line("a", np.array([1, 2, 20]), 7) == "| a | 3 | 7 | 33.333 | 66.667 | 0.517 |"


@pytest.mark.tensorflow
@pytest.mark.parametrize("model_type", ["tta", "unilm"])
def test_a_softmax_decodes_the_most_probable_word(tmp_path, model_type):
    import tta

    lm = tta.load(write_model_directory(tmp_path / "lm", of_family(model_type)))
    ids, ranks, left_out = decoded(lm, ["the cat sat", "日", "a dog"])
    assert left_out == 1
    assert [TOKENS[i] for i in ids] == ["the", "cat", "sat", "a", "dog"]
    row = [3, *ids[:3], 1]
    batch = {"input_ids": np.array([row]), "padding_mask": np.ones((1, 5), bool)}
    logits = np.array(lm.model(batch)["logits"])[0]
    for place, rank in zip((1, 2, 3), ranks, strict=False):
        at = logits[place - (model_type == "unilm")]
        assert rank == 1 + np.sum(at > at[row[place]])


@pytest.mark.tensorflow
def test_semfit_decodes_the_nearest_of_all_vectors(tmp_path):
    import tta
    from tta.modeling.formats.model_directory import save_model

    config = CONFIG.replace(output_layer="semfit", target_size=5)
    folder = write_model_directory(tmp_path / "lm", config)
    vectors = np.random.default_rng(0).normal(size=(len(TOKENS), 5)).astype(np.float16)
    vectors[TOKENS.index("cat")] = 0
    np.save(folder / "vectors.npy", vectors)
    save_model(make_model(config), folder, "")
    lm = tta.load(folder)
    ids, ranks, left_out = decoded(lm, ["the cat sat on"])
    assert left_out == 1
    [predicted] = lm.encode_words([["the", "cat", "sat", "on"]], "fit")
    cosines = unit(predicted[[0, 2, 3]]) @ unit(vectors.astype(np.float32)).T
    assert ranks.tolist() == ranks_of(cosines, ids).tolist()
