"""Settings of the commands that write data sets."""

import pytest

from tta.data.corpus.config import CorpusConfig
from tta.errors import InputError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_shards": 0}, "num_shards must be between 1 and 99999, not 0"),
        ({"max_seq_length": 2}, "max_seq_length must be at least 3, not 2"),
        ({"min_tokens": 0}, "min_tokens must be at least 1, not 0"),
        ({"heldout_fraction": 1.5}, "heldout_fraction must be between 0 and 1, not 1.5"),
        ({"spoken_fraction": float("nan")}, "spoken_fraction must be a finite number, not nan"),
        ({"seed": -1}, "seed must be between 0 and"),
        ({"long_sentences": "cut"}, "long_sentences must be truncate or drop, not 'cut'"),
    ],
)
def test_settings_out_of_range(options, message):
    with pytest.raises(InputError, match=message):
        CorpusConfig(input_file=[], vocab_file="unused", output_dir="unused", **options)
