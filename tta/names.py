"""Names of files that several packages share."""

# A model directory.
CONFIG = "config.json"
VOCABULARY = "vocab.txt"  # a data set has one, too
TOKENIZER_JSON = "tokenizer.json"  # Hugging Face's; it holds the vocabulary, too
WEIGHTS = "model.weights.h5"
README = "README.md"
POOLING = "pooling.npz"
VECTORS = "vectors.npy"  # the target vectors of a SemFit model; a folder of vectors has one, too
NGRAMS = "ngrams.npy"  # the vectors of character n-grams, for words without a row in VECTORS
NGRAMS_SETTINGS = "ngrams.json"

# A data set of shards; written last, so that a folder without it is not complete.
DATASET = "dataset.json"
