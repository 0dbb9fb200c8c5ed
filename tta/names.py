"""Names of files that several packages share."""

# A model directory.
CONFIG = "config.json"
VOCABULARY = "vocab.txt"  # a data set has one, too
WEIGHTS = "model.weights.h5"
README = "README.md"
POOLING = "pooling.npz"

# A data set of shards; written last, so that a folder without it is not complete.
DATASET = "dataset.json"
