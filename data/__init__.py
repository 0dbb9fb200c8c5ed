"""Data: text, vocabularies, records, N-best lists, sentence pairs, word vectors."""
