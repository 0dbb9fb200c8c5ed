"""Batches: what is in them is tested with the model (test_text_model.py), their shapes here."""

from tests.tiny import CONFIG, TOKENS
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.scoring.scorers.batches import make_batches


def batches_of(size, batch_tokens=64):
    """Batches of so many sentences of 4 tokens."""
    length = CONFIG.max_position_embeddings
    tokenizer = Tokenizer(Vocabulary(tuple(TOKENS)), CONFIG.do_lower_case)
    return make_batches(tokenizer, ["the cat"] * size, 0, {"text"}, length, batch_tokens, False)


def test_what_is_left_of_many_blocks_has_few_shapes_and_a_short_list_one_batch():
    shapes = set()
    for size in range(17, 60):
        batches = batches_of(size)
        shapes |= {batch.input_ids.shape for batch in batches}
        assert [index for batch in batches for index in batch.text_index] == list(range(size))
    assert shapes == {(rows, 4) for rows in (16, 8, 4, 2, 1)}
    assert len(batches_of(13)) == 1
