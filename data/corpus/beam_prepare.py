"""Raw text to shuffled TFRecord shards on Apache Beam: `tta.data.corpus.prepare` over many machines.

text files -> chunks of lines -> sentences dealt out to shards -> a shard on one worker's disk,
shuffled and written -> all shards moved into place, with `dataset.json` last

A chunk and what becomes of it depends on the seed, its file and its place in it, and not on the
workers: which sentences are in which shard is repeatable. Their order in the shard is the engine's.
"""

import io
import json
import shutil
import tempfile
import uuid
from pathlib import Path

import numpy as np

from tta.data.corpus.beam_common import (
    FileSystems,
    add_counts,
    beam,
    names_in,
    open_file,
    output_work_folder,
    publish,
    run_pipeline,
)
from tta.data.corpus.prepare import (
    NO_COUNTS,
    VOCAB_FILE,
    chunks,
    describe,
    prepare_chunk,
    shard_names,
    splits_info,
    write_shard,
)
from tta.data.corpus.spill import Spill
from tta.data.records import tfrecord
from tta.data.text.files import iter_lines
from tta.data.text.lines import decoded_lines
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError

CHUNKS_A_FILE = 1 << 32


def create_tfrecords(
    paths, vocabulary, output_dir, options, arguments=(), lower_case=True, overwrite=False
):
    """Writes a data set of TFRecord shards with its `dataset.json`, as `tta.data.corpus.prepare` does.

    The same sentences are in the same split. They are in the same shards, and the same ones in
    spoken form, where the text is one file; with several, chunks end with their file here.

    Args:
        paths: a list of text files (str) that every worker can read.
        vocabulary: a `Vocabulary`.
        output_dir: the folder (str) to write to, within every worker's reach; made if missing.
        options: a `tta.data.corpus.prepare.Options`.
        arguments: Beam's options, a list of str, `--runner` and so on.
        lower_case: whether the tokenizer lower-cases the text and strips its accents.
        overwrite: whether to replace a data set in that folder.

    Returns:
        The description, a dict, as `tfrecord.load_dataset_info` reads it.

    Raises:
        InputError: as `tta.data.corpus.prepare.create_tfrecords`; or the runner is unknown.
    """
    with output_work_folder(output_dir) as work:
        if not overwrite:
            _refuse_existing(output_dir, vocabulary)

        def build(pipeline):
            text = pipeline | "Files" >> beam.Create(list(enumerate(paths)))
            dealt = (
                text
                | "SpreadFiles" >> beam.Reshuffle()
                | "Read" >> beam.FlatMapTuple(read_chunks)
                | "SpreadChunks" >> beam.Reshuffle()
                | "Tokenize"
                >> beam.ParDo(_Prepare(vocabulary, lower_case, options)).with_outputs(
                    "counts", main="sentences"
                )
            )
            # A shard that no sentence came to is a file all the same.
            shards = range(options.num_shards + 1)
            nothing = pipeline | "Shards" >> beam.Create([(shard, (b"", b"")) for shard in shards])
            written = (
                (dealt.sentences, nothing)
                | beam.Flatten()
                | "Gather" >> beam.GroupByKey()
                | "Write" >> beam.ParDo(_WriteShard(work, options.seed))
            )
            counts = dealt.counts | "Count" >> beam.CombineGlobally(add_counts)
            _ = (
                pipeline
                | "End" >> beam.Create([None])
                | "Publish"
                >> beam.Map(
                    _publish,
                    beam.pvalue.AsList(written),
                    beam.pvalue.AsSingleton(counts),
                    (output_dir, work, vocabulary, lower_case, options, paths),
                )
            )

        run_pipeline(build, arguments)
    with open_file(FileSystems.join(output_dir, tfrecord.INFO_FILE)) as file:
        return json.load(file)


def read_chunks(file_number, path):
    """Yields a file's chunks: a number that no other chunk has (int), and its lines."""
    try:
        with open_file(path) as stream:
            for number, lines in enumerate(chunks(decoded_lines(stream, path))):
                yield file_number * CHUNKS_A_FILE + number, lines
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path) from None


@beam.typehints.with_output_types(tuple[int, tuple[bytes, bytes]])
class _Prepare(beam.DoFn):
    """(number, lines) -> (shard, (ids, lengths)), int32 as bytes; counts beside them."""

    def __init__(self, vocabulary, lower_case, options):
        self._vocabulary, self._lower_case, self._options = vocabulary, lower_case, options
        self._tokenizer = None

    def setup(self):
        from tta.data.vocabulary.tokenizer import Tokenizer

        self._tokenizer = Tokenizer(self._vocabulary, self._lower_case)

    def process(self, chunk):
        sentences, counts = prepare_chunk(*chunk, self._tokenizer, self._options)
        yield beam.pvalue.TaggedOutput("counts", counts)
        for shard, (ids, lengths) in enumerate(sentences):
            if len(lengths):
                yield shard, (ids.tobytes(), lengths.tobytes())


class _WriteShard(beam.DoFn):
    """(shard, its sentences) -> (shard, the file's name in the work folder, what it holds).

    Memory does not grow with the shard: it is shuffled on the worker's disk.
    """

    def __init__(self, work, seed):
        self._work, self._seed = work, seed

    def process(self, item):
        shard, blocks = item
        with tempfile.TemporaryDirectory() as local:
            spill, path = Spill(Path(local) / "spill"), Path(local) / "shard"
            for ids, lengths in blocks:
                if lengths:
                    spill.append(np.frombuffer(ids, np.int32), np.frombuffer(lengths, np.int32))
            holds = write_shard(spill, path, np.random.default_rng([self._seed, 1, shard]))
            # A name of its own for each try: an engine may run a step twice, or two at a time.
            name = f"shard-{shard}-{uuid.uuid4().hex}"
            with (
                open(path, "rb") as source,
                FileSystems.create(FileSystems.join(self._work, name)) as target,
            ):
                shutil.copyfileobj(source, target, 1 << 20)
        yield shard, name, holds


def _publish(_, written, counts, settings):
    output_dir, work, vocabulary, lower_case, options, paths = settings
    counts = NO_COUNTS | counts
    if not counts["sentences"]:
        raise InputError("no sentence is left to write", ", ".join(paths))
    shards, temporary, holds = zip(*sorted(written), strict=True)
    info = describe(vocabulary, lower_case, options, splits_info(holds), counts, paths)
    names = shard_names(options.num_shards)
    pieces = io.StringIO()
    vocabulary.write(pieces)
    publish(
        output_dir,
        work,
        {name: names[shard] for shard, name in zip(shards, temporary, strict=True)},
        {
            VOCAB_FILE: pieces.getvalue(),
            tfrecord.INFO_FILE: json.dumps(info, indent=2) + "\n",
        },
        tfrecord.is_shard_name,
    )


def _refuse_existing(output_dir, vocabulary):
    names = names_in(output_dir)
    for name in names:
        if name == tfrecord.INFO_FILE or tfrecord.is_shard_name(name):
            path = FileSystems.join(output_dir, name)
            raise InputError("a data set is here; pass --overwrite to replace it", path)
    path = FileSystems.join(output_dir, VOCAB_FILE)
    if VOCAB_FILE in names:
        former = Vocabulary(iter_lines(path, open_file), path=path)
        if former.sha256 != vocabulary.sha256:
            raise InputError("another vocabulary is here; pass --overwrite to replace it", path)
