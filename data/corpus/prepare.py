"""Raw text to shuffled TFRecord shards, as a stream: memory does not grow with the corpus.

First pass: the text is read in chunks. Threads tokenize each chunk and assign its sentences at
random to one temporary "spill" file per shard. Second pass: each spill is shuffled and written as
a shard. Together, the two passes shuffle the corpus uniformly. Random choices depend only on the
seed and the number of the chunk or shard, so the result does not depend on the number of threads.

Threads are used because TensorFlow's tokenizer of word pieces runs outside Python's lock. Processes
would each need half a gigabyte for TensorFlow.
"""

import os
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

from tta.data.corpus.chunks import NO_COUNTS, iter_chunks, prepare_chunk
from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.output import (
    check_replaceable,
    describe,
    publish,
    shard_names,
    work_folder,
    write_shard,
)
from tta.data.corpus.spill import Spill
from tta.data.nbest.text_layouts import input_notes
from tta.data.text.lines import TextReader, bytes_bar, expand_globs, print_notes
from tta.data.text.progress import tqdm
from tta.data.vocabulary.load import AnyTokenizer, load_vocabulary, make_tokenizer, reading_of
from tta.errors import InputError
from tta.settings import num_cores


def create_tfrecords(
    config: LocalCorpusConfig, tokenizer: AnyTokenizer | None = None
) -> dict[str, Any]:
    """Writes a data set of TFRecord shards with its `dataset.json`, whose contents it returns.

    The shards appear under their names when all are complete, and `dataset.json` last. `tokenizer`
    is a model's, with the settings of `config`; None makes the one that fits the vocabulary. Raises
    InputError if a file is missing or malformed, no sentence is left, the folder already has a data
    set, or another process is writing to it.
    """
    paths = expand_globs(config.input_file)
    vocabulary = load_vocabulary(config.tokenizer, config.vocab_file)
    if tokenizer is None:
        reading = reading_of(
            vocabulary,
            lower_case=config.lower_case,
            strip_accents=config.strip_accents,
            normalization=config.normalization,
        )
        config = replace(config, **reading)
    output = Path(config.output_dir)
    workers = config.num_workers or num_cores()
    shards = shard_names(config.num_shards)
    with work_folder(output) as work:
        if not config.overwrite:
            check_replaceable(os.listdir(output), config.output_dir, vocabulary)
        tokenizer = tokenizer or make_tokenizer(
            vocabulary, bool(config.lower_case), normalization=config.normalization or "bert"
        )
        spills = [Spill(work / f"spill-{i}") for i in range(len(shards))]
        shard_paths = [work / name for name in shards]
        with ThreadPoolExecutor(workers) as pool:
            # Blank lines end documents, and so do ends of files.
            reader = TextReader(paths, config.merge_sentences, config.merge_sentences)
            counts = _fill_spills(reader, tokenizer, spills, config, pool=pool, workers=workers)
            print_notes(input_notes(reader))
            if not counts["sentences"]:
                raise InputError("no sentence is left to write", ", ".join(paths))
            numbers = range(len(shards))
            results = pool.map(write_shard, spills, shard_paths, repeat(config), numbers)
            bar = tqdm(results, "writing", len(shards), unit=" shards")
            written = list(bar)
        info = describe(vocabulary, config, written, counts, paths)
        publish(work, output, vocabulary, info)
    return info


def _fill_spills(reader, tokenizer, spills, config, pool, workers):
    """Tokenizes the text and appends its sentences to the spills; returns the counts."""
    counts: Counter[str] = Counter(NO_COUNTS)
    bar = bytes_bar(reader, "tokenizing")
    pending = deque()

    def collect():
        sentences, chunk_counts = pending.popleft().result()
        for spill, (ids, lengths) in zip(spills, sentences, strict=True):
            spill.append(ids, lengths)
        counts.update(chunk_counts)
        bar.update(reader.bytes_read - bar.n)
        bar.set_postfix(sentences=f"{counts['sentences']:,}", refresh=False)

    with bar:
        for number, lines in enumerate(iter_chunks(reader)):
            pending.append(pool.submit(prepare_chunk, number, lines, tokenizer, config))
            if len(pending) > workers:  # bounds the chunks in flight; they are collected in order
                collect()
        while pending:
            collect()
    return counts
