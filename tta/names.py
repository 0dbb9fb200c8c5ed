"""Names of files that several packages share."""

# A model directory.
CONFIG = "config.json"
VOCABULARY = "vocab.txt"  # a data set has one, too
TOKENIZER_JSON = "tokenizer.json"  # Hugging Face's; it holds the vocabulary, too
TOKENIZER_FILES = ("tokenizer_config.json", "added_tokens.json", "special_tokens_map.json")
WEIGHTS = "model.weights.h5"
README = "README.md"
POOLING = "pooling.npz"
LIGHT = "light.safetensors"  # what onnxruntime would make, or compute, at each start
VECTORS = "vectors.npy"  # the target vectors of a SemFit model; a folder of vectors has one, too
STANDARDIZATION = "standardization.safetensors"  # what was taken out of a model's outputs
NGRAMS = "ngrams.npy"  # the vectors of character n-grams, for words without a row in VECTORS
NGRAMS_SETTINGS = "ngrams.json"
CHARACTER_NETWORK = "characters.safetensors"  # a network that does the same from characters
NEW_WORD_FILES = (NGRAMS, NGRAMS_SETTINGS, CHARACTER_NETWORK)
INPUT_FILES = (VECTORS, *NEW_WORD_FILES)  # what a model may read besides ids
# A new file stands in one of these. Weights are kept with digests of the first, which they need.
NEEDED_FILES = (CONFIG, VOCABULARY, STANDARDIZATION, *INPUT_FILES)
MODEL_FILES = (*NEEDED_FILES, TOKENIZER_JSON, WEIGHTS, README, POOLING, LIGHT)

# A data set of shards; written last, so that a folder without it is not complete.
DATASET = "dataset.json"
