"""Text to shards on Apache Beam: the same data set as tta create-tfrecords, all or nothing."""

import collections
import gzip
import subprocess
import sys

import apache_beam as beam
import pytest

from tests.beam_runners import IN_PROCESS, JOB_SERVER, ROOT, TWO_PROCESSES, workers_find_tta
from tta.data.corpus import beam_prepare, chunks, prepare
from tta.data.corpus.beam_common import find_files, publish, run_pipeline
from tta.data.corpus.config import CorpusConfig, LocalCorpusConfig
from tta.data.corpus.output import work_folder
from tta.data.records import dataset, examples
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

pytestmark = pytest.mark.tensorflow

__all__ = ["workers_find_tta"]

DIGITS = tuple("0123456789")
VOCABULARY = Vocabulary([*TTA_SPECIALS, *DIGITS, *(f"##{d}" for d in DIGITS), *"ns.,'"])


@pytest.fixture
def text(tmp_path):
    """300 sentences, some of them twice, in two files, and a file without any."""
    lines = [f"n {' '.join(str(i % 250))} ," for i in range(300)]
    (tmp_path / "a.txt").write_text("\n".join(lines[:200]) + "\n\nn\n")
    with gzip.open(tmp_path / "b.gz", "wt") as file:
        file.write("\n".join(lines[200:]) + "\nn s n s n s n s")
    (tmp_path / "c.txt").write_text("")
    return [str(tmp_path / name) for name in ("a.txt", "b.gz", "c.txt")]


def config(kind, paths, folder, **settings):
    folder.parent.mkdir(exist_ok=True)
    vocab_file = folder.parent / "vocab.txt"
    VOCABULARY.save(vocab_file, overwrite=True)
    settings = {"num_shards": 3, "max_seq_length": 8, "heldout_fraction": 0.2, **settings}
    return kind(input_file=paths, vocab_file=str(vocab_file), output_dir=str(folder), **settings)


def on_beam(paths, folder, arguments=IN_PROCESS, **settings):
    info = beam_prepare.create_tfrecords(config(CorpusConfig, paths, folder, **settings), arguments)
    assert info == dataset.load_dataset_info(folder), "what tta pretrain reads"
    return info


def on_one_machine(paths, folder, **settings):
    return prepare.create_tfrecords(config(LocalCorpusConfig, paths, folder, **settings))


WRITERS = {"one machine": on_one_machine, "Beam": on_beam}
each_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


def sentences(folder, info, split):
    """For each shard, how often it has each sentence."""
    return [
        collections.Counter(tuple(ids.tolist()) for ids in examples.read_sentences(path))
        for path in dataset.shard_paths(folder, info, split)
    ]


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_several_processes_write_the_sentences_of_the_one_machine_command(
    text, tmp_path, workers_find_tta
):
    ours = on_beam(text, tmp_path / "beam", TWO_PROCESSES)
    theirs = on_one_machine(text, tmp_path / "one")
    for split in ("train", "heldout"):
        found = [
            sum(sentences(tmp_path / folder, info, split), collections.Counter())
            for folder, info in (("beam", ours), ("one", theirs))
        ]
        assert found[0] == found[1]
        assert found[0].total() == ours["splits"][split]["sentences"] > 30
    for info in (ours, theirs):
        for split in info["splits"].values():  # The sentences are in different shards.
            assert len(split.pop("shard_bytes")) == split["shards"]
    assert ours == theirs
    assert set(files(tmp_path / "beam")) == set(files(tmp_path / "one"))
    assert Vocabulary.from_file(tmp_path / "beam" / "vocab.txt") == VOCABULARY


def test_one_file_gives_the_same_shards_as_the_one_machine_command(text, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_LINES", 16)
    options = {"spoken_fraction": 0.5, "seed": 7, "num_shards": 5}
    ours = on_beam(text[:1], tmp_path / "beam", **options)
    theirs = on_one_machine(text[:1], tmp_path / "one", **options)
    for split in ("train", "heldout"):
        found = sentences(tmp_path / "beam", ours, split)
        assert found == sentences(tmp_path / "one", theirs, split)
    assert sum(map(bool, sentences(tmp_path / "beam", ours, "train"))) == 5
    assert ours == theirs
    # Chunks of another file have other numbers.
    copy = tmp_path / "copy.txt"
    copy.write_bytes((tmp_path / "a.txt").read_bytes())
    twice = on_beam([text[0], str(copy)], tmp_path / "twice", **options)
    doubled = [shard + shard for shard in sentences(tmp_path / "beam", ours, "train")]
    assert sentences(tmp_path / "twice", twice, "train") != doubled


def test_words_are_prepared_as_by_the_one_machine_command(text, tmp_path):
    counts = {"n": 300, ",": 300, "1": 100, "s": 5, "[PAD]": 1}
    WordVocabulary.from_counts(counts).save(tmp_path / "words.txt")
    options = {"tokenizer": "words", "vocab_file": str(tmp_path / "words.txt"), "num_shards": 2}
    made = []
    for kind, create in ((CorpusConfig, beam_prepare), (LocalCorpusConfig, prepare)):
        output = tmp_path / kind.__name__
        create.create_tfrecords(
            kind(input_file=text[:1], output_dir=str(output), heldout_fraction=0.2, **options)
        )
        made.append(dataset.load_dataset_info(output))
        assert (output / "vocab.txt").read_text() == (tmp_path / "words.txt").read_text()
    assert made[0] == made[1]
    assert made[0]["tokenizer"] == "words"
    found = [sentences(tmp_path / kind, made[0], "train")
             for kind in ("CorpusConfig", "LocalCorpusConfig")]  # fmt: skip
    assert found[0] == found[1]


def test_a_shard_without_a_sentence_is_a_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("n n\n")
    info = on_beam([str(path)], tmp_path / "out", heldout_fraction=0, num_shards=4)
    assert info["splits"]["train"]["shards"] == 4
    assert sorted(len(shard) for shard in sentences(tmp_path / "out", info, "train")) == [0] * 3 + [
        1
    ]
    assert info["splits"]["heldout"]["sentences"] == 0


@pytest.mark.parametrize("arguments", [IN_PROCESS, JOB_SERVER], ids=["in process", "job server"])
def test_a_bad_line_is_one_error_and_the_old_set_is_kept(text, tmp_path, arguments):
    output = tmp_path / "out"
    on_beam(text, output)
    before = files(output)
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"n n\n" * 50 + b"\xff\n")
    with pytest.raises(InputError) as raised:
        on_beam([*text, str(bad)], output, arguments, overwrite=True)
    assert str(raised.value) == f"{bad}:51: expected UTF-8, got byte 0xff"
    assert files(output) == before
    with pytest.raises(InputError, match=r"bad\.txt:51"):
        on_beam([str(bad)], tmp_path / "new", arguments)
    assert not (tmp_path / "new").exists()


@each_writer
def test_existing_data_is_kept_without_overwrite(text, tmp_path, write):
    output, description = tmp_path / "out", tmp_path / "out/dataset.json"
    write(text, output, num_shards=5)
    (output / "mine.txt").write_text("keep")
    before = files(output)
    with pytest.raises(InputError, match="a data set is here; pass --overwrite to replace it"):
        write(text, output)
    description.rename(tmp_path / "dataset.json")
    with pytest.raises(InputError, match=r"heldout-00000-of-00001\.tfrecord: a data set is here"):
        write(text, output)
    (tmp_path / "dataset.json").rename(description)
    assert files(output) == before
    write(text, output, num_shards=2, overwrite=True)
    assert len(list(output.glob("train-*"))) == 2, "no shard of the old set is left"
    assert (output / "mine.txt").read_text() == "keep"


@each_writer
def test_another_vocabulary_is_kept_without_overwrite(text, tmp_path, write):
    output = tmp_path / "out"
    output.mkdir()
    Vocabulary([*TTA_SPECIALS, "x"]).save(output / "vocab.txt")
    with pytest.raises(InputError, match="another vocabulary is here"):
        write(text, output)
    write(text, output, overwrite=True)
    assert Vocabulary.from_file(output / "vocab.txt") == VOCABULARY


@each_writer
def test_no_sentence_left(tmp_path, write):
    path = tmp_path / "a.txt"
    path.write_text("n\n\n")
    with pytest.raises(InputError, match=r"a\.txt: no sentence is left to write"):
        write([str(path)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@each_writer
def test_two_writers_in_one_folder(text, tmp_path, write):
    refusal = pytest.raises(InputError, match="another process is writing there")
    with work_folder(tmp_path / "out") as work, refusal:
        write(text, tmp_path / "out")
    assert not work.exists()


def test_publishing_can_be_repeated_after_a_failure(tmp_path):
    output, work = tmp_path / "out", tmp_path / "out" / "work"
    work.mkdir(parents=True)
    (output / "x-1").write_text("moved before the cut")
    (output / "x-9").write_text("of the old output")
    (output / "end").write_text("of the old output")
    (work / "b").write_text("not yet moved")
    moves, texts = {"a": "x-1", "b": "x-2"}, {"end": "all are there"}
    publish(str(output), str(work), moves, texts, lambda name: name.startswith("x-"))
    assert {name: contents.decode() for name, contents in files(output).items()} == {
        "x-1": "moved before the cut",
        "x-2": "not yet moved",
        "end": "all are there",
    }


def test_find_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.xz"):
        (tmp_path / name).touch()
    found = find_files([f"{tmp_path}/*.txt", f"{tmp_path}/a.txt", f"{tmp_path}/c.xz"])
    assert found == [f"{tmp_path}/{name}" for name in ("a.txt", "b.txt", "c.xz")]
    with pytest.raises(InputError, match=r"none\*: no file matches"):
        find_files([f"{tmp_path}/none*"])
    with pytest.raises(InputError, match="not standard input"):
        find_files(["-"])


def test_other_errors_are_not_changed():
    def build(pipeline):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        run_pipeline(build, IN_PROCESS)


def fail(_):
    raise RuntimeError("a bug")


@pytest.mark.parametrize("runner", [IN_PROCESS, JOB_SERVER])
def test_a_bug_of_a_step_is_not_a_runner_that_does_not_start(runner):
    with pytest.raises(RuntimeError, match="a bug"):
        run_pipeline(lambda pipeline: pipeline | beam.Create([1]) | beam.Map(fail), runner)


@pytest.mark.parametrize(
    ("runner", "message"),
    [
        (["--runner=FlinkRunner", "--flink_job_server_jar=no.jar"], ".*no.jar"),
        (["--runner=PortableRunner"], "NotImplementedError: You must specify a --job_endpoint"),
    ],
)
def test_a_runner_that_does_not_start_is_one_line(runner, message):
    with pytest.raises(InputError, match="^Apache Beam: the runner does not start: " + message):
        run_pipeline(lambda pipeline: pipeline | beam.Create([1]), runner)


def test_the_command_passes_arguments_to_beam(text, tmp_path):
    VOCABULARY.save(tmp_path / "vocab.txt")
    command = [sys.executable, "-m", "tta.flags.beam_create_tfrecords"]
    command += [f"--input_file={text[0]}", f"--vocab_file={tmp_path / 'vocab.txt'}"]
    command += [f"--output_dir={tmp_path / 'out'}", "--", "--runner=Nobody"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("error: Apache Beam: Unexpected pipeline runner: Nobody.")
    assert not (tmp_path / "out").exists()
