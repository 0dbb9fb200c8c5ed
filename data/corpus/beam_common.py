"""What pipelines on Apache Beam share: files on any file system, whole outputs, short errors.

Paths are local or belong to a file system that Beam supports (`gs://`, `s3://`, `hdfs://`).
Importing this module without Beam raises an `InputError` that says what to install.
"""

import contextlib
import io
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tta.data.corpus.output import WORK_FOLDER, work_folder
from tta.data.text.files import STANDARD_STREAM
from tta.data.text.lines import expand_globs, matching_files
from tta.errors import InputError, install

try:
    import apache_beam as beam
    from apache_beam.io.filesystem import BeamIOError, CompressionTypes
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions
except ModuleNotFoundError as error:
    if error.name != "apache_beam":
        raise
    raise InputError(f"Apache Beam is missing: {install('beam')}") from None

# Finds a worker's error among the engine's tracebacks. Beam appends the name of the step.
_OF_STEP = " [while running "
_RELAYED = re.compile(rf"\bInputError: (.+?)(?:{re.escape(_OF_STEP)}.*)?$", re.MULTILINE)

# Beam's workers log every step. A user's option comes later and overrides this one.
_QUIET = "--default_sdk_harness_log_level=WARNING"


def run_pipeline(build: Callable[[beam.Pipeline], None], arguments: Iterable[str]) -> None:
    """Calls `build` with a pipeline, runs the pipeline and waits for its end.

    `arguments` are Beam's options: `--runner=...` and the options of that runner. Raises InputError
    if the runner is unknown or does not start, one of its options is wrong, or a step raised this
    error.
    """
    try:
        pipeline = beam.Pipeline(options=PipelineOptions([_QUIET, *arguments]))
    except ValueError as error:
        raise InputError(f"Apache Beam: {' '.join(str(error).split())}") from None
    is_built = False
    try:
        with pipeline:
            build(pipeline)
            is_built = True
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        if found := _RELAYED.search(text):
            raise InputError(found[1]) from None
        # A runner in this process has no result before its steps are done; their errors name them.
        if not is_built or getattr(pipeline, "result", None) is not None or _OF_STEP in text:
            raise
        rule = f"Apache Beam: the runner does not start: {' '.join(text.split())}"
        raise InputError(rule) from error


def add_counts(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Sums dicts of numbers key by key; for `beam.CombineGlobally`."""
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total


def open_file(path: str, mode: str = "rb") -> Any:
    """Opens a stored file for reading bytes; an `opener` for `tta.data.text.files.open_input`."""
    stream: Any = FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)


def find_files(patterns: Iterable[str]) -> list[str]:
    """Lists files as `expand_globs` does. Raises `InputError` for standard input, too."""
    paths = expand_globs(patterns, _match)
    if STANDARD_STREAM in paths:
        raise InputError("Beam's workers read files, not standard input")
    return paths


def names_in(folder: str) -> list[str]:
    """The names of the files in a folder, sorted; empty if the folder does not exist."""
    start = FileSystems.join(folder, "")
    matched = FileSystems.match([FileSystems.join(folder, "*")])[0].metadata_list
    names = (metadata.path.removeprefix(start) for metadata in matched)
    return sorted(name for name in names if "/" not in name)


def _is_local(path):
    return "://" not in path


def _match(pattern):
    if _is_local(pattern):
        return matching_files(pattern)
    return [metadata.path for metadata in FileSystems.match([pattern])[0].metadata_list]


@contextlib.contextmanager
def output_work_folder(output_dir: str) -> Iterator[str]:
    """Makes a folder for unfinished files inside an output folder, and yields its path.

    The output folder is made if missing; a local one is locked for this process. The work folder is
    removed at the end, with one exception: after an interrupt, a remote work folder is kept because
    the engine is still running. The errors are those of `tta.data.corpus.output.work_folder`.
    """
    if _is_local(output_dir):
        with work_folder(Path(output_dir)) as work:
            yield str(work)
        return
    work = FileSystems.join(output_dir, f"{WORK_FOLDER}-{uuid.uuid4().hex}")
    try:
        yield work
    except Exception:
        _delete(work)
        raise


def publish(
    output_dir: str,
    work: str,
    files: dict[str, str],
    texts: dict[str, str],
    replaces: Callable[[str], bool],
) -> None:
    """Moves finished files to their names. An engine may repeat this step after a failure.

    Args:
        files: {name in the work folder: final name}.
        texts: {final name: contents}, written after all files. The last one marks the output as
            complete, so its old version is removed first.
        replaces: takes a file name; returns whether the file is part of the output to replace.
    """

    def place(source, name):
        target = FileSystems.join(output_dir, name)
        _delete(target)
        FileSystems.rename([source], [target])

    _delete(FileSystems.join(output_dir, list(texts)[-1]))
    for temporary, name in files.items():
        source = FileSystems.join(work, temporary)
        if FileSystems.exists(source):  # otherwise it was moved by an earlier attempt
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
    with contextlib.suppress(BeamIOError):  # It does not exist.
        FileSystems.delete([path])
