"""Raw text to shuffled TFRecord shards on Apache Beam: `tta.data.corpus.prepare` on many machines.

text files -> chunks of lines -> sentences, each with its shard -> a shard on one worker's disk,
shuffled and written -> all shards moved into place, with `dataset.json` last

The result for a chunk depends on the seed, its file and its position in the file, not on the
workers. So each shard always gets the same sentences, but their order in the shard may differ.
"""

import json
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from apache_beam.pvalue import AsList, AsSingleton, TaggedOutput
from apache_beam.typehints import with_output_types

from tta import names
from tta.data.corpus.beam_common import (
    FileSystems,
    add_counts,
    beam,
    find_files,
    names_in,
    open_file,
    output_work_folder,
    publish,
    run_pipeline,
)
from tta.data.corpus.chunks import NO_COUNTS, iter_chunks, prepare_chunk
from tta.data.corpus.config import CorpusConfig
from tta.data.corpus.output import check_replaceable, describe, shard_names, write_shard
from tta.data.corpus.spill import Spill
from tta.data.records.dataset import is_shard_name
from tta.data.text.lines import iter_lines
from tta.data.vocabulary.load import load_vocabulary, make_tokenizer, reading_of
from tta.errors import InputError

CHUNKS_PER_FILE = 1 << 32


def create_tfrecords(config: CorpusConfig, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Writes a data set of TFRecord shards with its `dataset.json`.

    Every sentence is in the same split as with `tta.data.corpus.prepare`. For a single text file,
    it is also in the same shard and in the same form (written or spoken). With several files, the
    chunks differ, because here a chunk ends with its file.

    Every worker needs access to the text files and to the output folder. `arguments` are Beam's
    options, such as `--runner`. Returns the contents of `dataset.json`. Raises InputError as
    `tta.data.corpus.prepare.create_tfrecords`; or the runner is unknown.
    """
    paths = find_files(config.input_file)
    vocabulary = load_vocabulary(config.tokenizer, config.vocab_file)
    given = config.lower_case, config.strip_accents, config.normalization
    config = replace(config, **reading_of(vocabulary, *given))
    output_dir = config.output_dir
    with output_work_folder(output_dir) as work:
        if not config.overwrite:
            check_replaceable(names_in(output_dir), output_dir, vocabulary, open_file)

        def build(pipeline):
            text = pipeline | "Files" >> beam.Create(list(enumerate(paths)))
            dealt = (
                text
                | "SpreadFiles" >> beam.Reshuffle()
                | "Read" >> beam.FlatMapTuple(read_chunks, config.merge_sentences)
                | "SpreadChunks" >> beam.Reshuffle()
                | "Tokenize"
                >> beam.ParDo(_Prepare(vocabulary, config)).with_outputs("counts", main="sentences")
            )
            # Shards without sentences are written, too.
            shards = range(config.num_shards + 1)
            nothing = pipeline | "Shards" >> beam.Create([(shard, (b"", b"")) for shard in shards])
            written: Any = (
                (dealt.sentences, nothing)
                | beam.Flatten()
                | "Gather" >> beam.GroupByKey()
                | "Write" >> beam.Map(_write_shard, work, config)
            )
            counts = dealt.counts | "Count" >> beam.CombineGlobally(add_counts)
            job = (work, vocabulary, config, paths)
            end = pipeline | "End" >> beam.Create([None])
            _ = end | "Publish" >> beam.Map(_publish, AsList(written), AsSingleton(counts), job)

        run_pipeline(build, arguments)
    with open_file(FileSystems.join(output_dir, names.DATASET)) as file:
        return json.load(file)


def read_chunks(
    file_number: int, path: str, has_documents: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yields the chunks of a file: a number that is unique in the corpus, and the lines.

    With `has_documents`, blank lines are kept.
    """
    lines = iter_lines(path, open_file, strip=not has_documents, may_be_empty=True)
    for number, chunk in enumerate(iter_chunks(lines)):
        yield file_number * CHUNKS_PER_FILE + number, chunk


@with_output_types(tuple[int, tuple[bytes, bytes]])
class _Prepare(beam.DoFn):
    """(number, lines) -> (shard, (ids, lengths)), int32 as bytes; also the counts."""

    def __init__(self, vocabulary, config):
        self._vocabulary, self._config = vocabulary, config

    def setup(self):
        config = self._config
        self._tokenizer = make_tokenizer(
            self._vocabulary, bool(config.lower_case), normalization=config.normalization or "bert"
        )

    def process(self, chunk):
        number, lines = chunk
        sentences, counts = prepare_chunk(number, lines, self._tokenizer, self._config)
        yield TaggedOutput("counts", counts)
        for shard, (ids, lengths) in enumerate(sentences):
            if len(lengths):
                yield shard, (ids.tobytes(), lengths.tobytes())


def _write_shard(item, work, config):
    """(shard, its sentences) -> (shard, name of its file in `work`, result of `write_shard`)."""
    shard, blocks = item
    with tempfile.TemporaryDirectory() as local:
        spill, path = Spill(Path(local) / "spill"), Path(local) / "shard"
        for ids, lengths in blocks:
            if lengths:
                spill.append(np.frombuffer(ids, np.int32), np.frombuffer(lengths, np.int32))
        written = write_shard(spill, path, config, shard)
        # A new name for each attempt: an engine may repeat a step, or run it twice at once.
        name = f"shard-{shard}-{uuid.uuid4().hex}"
        target_path = FileSystems.join(work, name)
        with open(path, "rb") as source, FileSystems.create(target_path) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    return shard, name, written


def _publish(_, results, counts, job):
    work, vocabulary, config, paths = job
    counts = NO_COUNTS | counts
    if not counts["sentences"]:
        raise InputError("no sentence is left to write", ", ".join(paths))
    _, temporary, written = zip(*sorted(results), strict=True)
    info = describe(vocabulary, config, written, counts, paths)
    publish(
        config.output_dir,
        work,
        dict(zip(temporary, shard_names(config.num_shards), strict=True)),
        {names.VOCABULARY: vocabulary.text, names.DATASET: json.dumps(info, indent=2) + "\n"},
        is_shard_name,
    )
