"""Bytes to arrays and back: vocabulary, tokenizer, TFRecord, tf.data, N-best and STS files."""
