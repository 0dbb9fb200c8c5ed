"""The shapes of batches; test_text_model.py tests their contents with a model."""

import numpy as np
import pytest

from tests.tiny import CONFIG, TOKENS
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.scoring.scorers.arguments import SentenceError
from tta.scoring.scorers.inference.batches import make_batches, run_batches


def batches_of(count, batch_tokens=64):
    """Batches of `count` sentences of 4 tokens."""
    size = CONFIG.max_position_embeddings - 2
    tokenizer = Tokenizer(Vocabulary(tuple(TOKENS)), CONFIG.do_lower_case)
    return make_batches(tokenizer, ["the cat"] * count, 0, {"text"}, size, batch_tokens, False)


def test_the_last_batches_have_few_shapes_and_a_short_list_is_one_batch():
    shapes = set()
    for size in range(17, 60):
        batches = batches_of(size)
        shapes |= {batch.input_ids.shape for batch in batches}
        assert [index for batch in batches for index in batch.text_index] == list(range(size))
    assert shapes == {(rows, 4) for rows in (16, 8, 4, 2, 1)}
    assert len(batches_of(13)) == 1


@pytest.mark.parametrize("shape", [(), (5,)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("in_flight", [1, 2])
def test_a_result_that_is_not_finite_is_an_error_of_its_sentence(shape, bad, in_flight):
    def function(batch):
        result = np.zeros((*batch.input_ids.shape, *shape), np.float32)
        if len(batch.input_ids) == 1:
            result[0, -1] = bad
        return result

    found = run_batches(function, batches_of(17), in_flight)
    with pytest.raises(SentenceError, match=r"^sentence 17 gets a result from the model that"):
        list(found)
