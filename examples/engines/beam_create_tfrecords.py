"""Text to TFRecords with Apache Beam, the files of `tta create-tfrecords` byte for byte:

python beam_create_tfrecords.py 'TEXT/*.xz' VOCABULARY OUT [OPTIONS OF BEAM]

All workers must see these paths. A step that Beam repeats writes the same bytes again.
"""

import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import apache_beam as beam
import numpy as np
from apache_beam.typehints import with_output_types

from tta.data.corpus.chunks import NO_COUNTS, iter_chunks, prepare_chunk
from tta.data.corpus.config import CorpusConfig
from tta.data.corpus.output import (
    check_replaceable,
    describe,
    publish,
    shard_names,
    work_folder,
    write_shard,
)
from tta.data.corpus.spill import Spill
from tta.data.text.lines import TextReader, expand_globs
from tta.data.vocabulary.load import load_vocabulary, make_tokenizer, reading_of


def read(paths, config):
    """Yields (number, lines) of the chunks, which are numbered across files."""
    is_whole = config.merge_sentences  # blank lines end documents
    yield from enumerate(iter_chunks(TextReader(paths, is_whole, is_whole)))


@with_output_types(tuple[int, tuple[int, bytes, bytes]])
class Prepare(beam.DoFn):
    """(number, lines) of a chunk -> (shard, (number, its sentences)) of all shards, and counts."""

    def __init__(self, config):
        self.config = config

    def setup(self):
        config = self.config
        vocabulary = load_vocabulary(config.tokenizer, config.vocab_file)
        reading = {"normalization": config.normalization or "bert"}
        self.tokenizer = make_tokenizer(vocabulary, bool(config.lower_case), **reading)

    def process(self, chunk):
        number, lines = chunk
        sentences, counts = prepare_chunk(number, lines, self.tokenizer, self.config)
        yield beam.pvalue.TaggedOutput("counts", counts)
        for shard, (ids, lengths) in enumerate(sentences):
            yield shard, (number, ids.tobytes(), lengths.tobytes())


def write(shard_and_chunks, work, config):
    """Writes a shard. Returns its number and the results of `write_shard`."""
    shard, chunks = shard_and_chunks
    with tempfile.TemporaryDirectory(dir=work) as folder:  # of this attempt
        spill, path = Spill(f"{folder}/spill"), Path(folder, "shard")
        for _, ids, lengths in sorted(chunks):  # by number, as one machine reads them
            spill.append(np.frombuffer(ids, np.int32), np.frombuffer(lengths, np.int32))
        written = write_shard(spill, path, config, shard)
        os.replace(path, Path(work, shard_names(config.num_shards)[shard]))
    return shard, written


def add_up(counts):
    return dict(sum(map(Counter, counts), Counter()))


class Save(beam.PTransform):
    """Writes elements as lines of JSON, which `load` reads."""

    def __init__(self, path):
        self.path = str(path)

    def expand(self, elements):
        lines = elements | beam.Map(json.dumps)
        return lines | beam.io.WriteToText(self.path, shard_name_template="")


def load(path):
    return list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))


def create_tfrecords(config, options):
    vocabulary, output = load_vocabulary("word_pieces", config.vocab_file), Path(config.output_dir)
    reading = config.lower_case, config.strip_accents, config.normalization
    config = replace(config, **reading_of(vocabulary, *reading))
    paths = expand_globs(config.input_file)
    with work_folder(output) as work:
        check_replaceable(os.listdir(output), config.output_dir, vocabulary)
        with beam.Pipeline(argv=options) as pipeline:
            chunks = pipeline | beam.Create([paths]) | beam.FlatMap(read, config)
            prepare = beam.ParDo(Prepare(config)).with_outputs("counts", main="sentences")
            prepared = chunks | beam.Reshuffle() | prepare
            shards = prepared.sentences | beam.GroupByKey() | beam.Map(write, str(work), config)
            counts = prepared.counts | beam.CombineGlobally(add_up)
            _ = shards | "Save shards" >> Save(work / "shards.json")
            _ = counts | "Save counts" >> Save(work / "counts.json")
        written = [result for _, result in sorted(load(work / "shards.json"))]
        counts = NO_COUNTS | load(work / "counts.json")[0]
        publish(work, output, vocabulary, describe(vocabulary, config, written, counts, paths))


if __name__ == "__main__":
    text, vocab_file, output_dir, *options = sys.argv[1:]
    files = {"input_file": [text], "vocab_file": vocab_file, "output_dir": output_dir}
    create_tfrecords(CorpusConfig(**files), options)
