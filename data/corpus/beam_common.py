"""What pipelines on Apache Beam share: files wherever Beam reaches, whole outputs, short errors.

Paths are local or those of a file system that Beam knows (`gs://`, `s3://`, `hdfs://`). Importing
this module without Beam is an `InputError` that says what to install.
"""

import contextlib
import io
import re
import uuid
from pathlib import Path

from tta.data.corpus.prepare import WORK_FOLDER, work_folder
from tta.data.text.lines import expand_globs
from tta.errors import InputError

try:
    import apache_beam as beam
    from apache_beam.io.filesystem import BeamIOError, CompressionTypes
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions
except ModuleNotFoundError as error:
    if error.name != "apache_beam":
        raise
    raise InputError("Apache Beam is missing: pip install 'tta-lm[beam]'") from None

# A worker's error as an engine relays it, in the midst of tracebacks; Beam adds the step's name.
_RELAYED = re.compile(r"\bInputError: (.+?)(?: \[while running .*)?$", re.MULTILINE)

# Beam's workers tell each step of their lives; an option of the user's comes later and wins.
_QUIET = "--default_sdk_harness_log_level=WARNING"


def run_pipeline(build, arguments):
    """Builds a pipeline, runs it and waits for its end.

    Args:
        build: called with the `beam.Pipeline`.
        arguments: Beam's options, a list of str: `--runner=...` and what that runner takes.

    Raises:
        InputError: there is no such runner or an option of it is wrong; or a step raised one.
    """
    try:
        pipeline = beam.Pipeline(options=PipelineOptions([_QUIET, *arguments]))
    except ValueError as error:
        raise InputError(f"Apache Beam: {' '.join(str(error).split())}") from None
    try:
        with pipeline:
            build(pipeline)
    except Exception as error:
        found = _RELAYED.search(f"{type(error).__name__}: {error}")
        if not found:
            raise
        raise InputError(found[1]) from None


def add_counts(counts):
    """Sums dicts of numbers key by key; what `beam.CombineGlobally` calls."""
    total = {}
    for one in counts:
        for key, value in one.items():
            total[key] = total.get(key, 0) + value
    return total


# Files


def is_local(path):
    """Whether a path is one of this machine's, and not a URL."""
    return "://" not in path


def open_file(path, mode="rb"):
    """Opens a file for reading bytes, as it is stored; an `opener` of `tta.data.text.files`.

    Raises:
        OSError: it cannot be opened.
    """
    stream = FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)


def find_files(patterns):
    """Lists the files that paths and globs name, as `expand_globs`.

    Raises:
        InputError: a pattern matches no file, or is standard input: the workers have another.
    """
    paths = []
    for pattern in filter(None, map(str.strip, patterns)):
        if pattern == "-":
            raise InputError("Beam's workers read files, not standard input")
        if is_local(pattern):
            found = expand_globs([pattern])
        else:
            found = sorted(
                metadata.path for metadata in FileSystems.match([pattern])[0].metadata_list
            )
            if not found:
                raise InputError("no file matches", pattern)
        paths += found
    if not paths:
        raise InputError("no input file was given")
    return list(dict.fromkeys(paths))


def names_in(folder):
    """The names of the files in a folder; none where there is no folder."""
    start = FileSystems.join(folder, "")
    matched = FileSystems.match([FileSystems.join(folder, "*")])[0].metadata_list
    names = (metadata.path.removeprefix(start) for metadata in matched)
    return sorted(name for name in names if "/" not in name)


# Outputs that appear when all of them are complete


@contextlib.contextmanager
def output_work_folder(output_dir):
    """Makes a folder for unfinished files inside an output folder.

    Args:
        output_dir: the folder, str, made if missing. A local one is locked for this process.

    Yields:
        Its path, str. It is removed at the end; elsewhere than on this machine it stays when we are
        interrupted, because there the engine goes on without us.

    Raises:
        InputError: another process has the output folder.
    """
    if is_local(output_dir):
        with work_folder(Path(output_dir)) as work:
            yield str(work)
        return
    work = FileSystems.join(output_dir, f"{WORK_FOLDER}-{uuid.uuid4().hex}")
    try:
        yield work
    except Exception:
        _delete(work)
        raise


def publish(output_dir, work, files, texts, replaces):
    """Moves finished files to their names; a step that an engine may try again where it was cut.

    Args:
        output_dir, work: the folders (str).
        files: {name in the work folder: final name}.
        texts: {final name: contents}, written after all files. Without the last one, which is
            taken away first, an output is not complete.
        replaces: tells of a name whether a former file of that name belongs to what is replaced.
    """

    def place(source, name):
        target = FileSystems.join(output_dir, name)
        _delete(target)
        FileSystems.rename([source], [target])

    _delete(FileSystems.join(output_dir, list(texts)[-1]))
    for temporary, name in files.items():
        source = FileSystems.join(work, temporary)
        if FileSystems.exists(source):  # Else it was moved before the step was cut.
            place(source, name)
    for name in names_in(output_dir):
        if replaces(name) and name not in files.values():
            _delete(FileSystems.join(output_dir, name))
    for name, contents in texts.items():
        source = FileSystems.join(work, name)
        with FileSystems.create(source, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            file.write(contents.encode())
        place(source, name)
    _delete(work)


def _delete(path):
    with contextlib.suppress(BeamIOError):  # It is not there.
        FileSystems.delete([path])
