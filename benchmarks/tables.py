"""Measures Parquet beside text, memory by the number of rows, kills with --resume, and a cache.

    python -m benchmarks.tables FOLDER [time] [memory] [kill] [cache]

Text and Parquet are scored in turns, so that both see the same machine. The cache is measured on
the lists of Arctic in $TTA_DATA.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

WORDS = ["the", "cat", "sat", "on", "a", "mat", "while", "dogs", "ran", "home", "from", "an", "old"]
TTA = [sys.executable, "-m", "tta"]


def sentences(count, seed=0):
    """`count` sentences of 3 to 14 words, nearly all distinct."""
    draw = random.Random(seed)
    for number in range(count):
        yield f"{' '.join(draw.choices(WORDS, k=draw.randint(3, 14)))} {number}"


def write(folder, count):
    """The same sentences as text and as Parquet."""
    import pyarrow
    from pyarrow import parquet

    text, table = folder / f"{count}.txt", folder / f"{count}.parquet"
    if table.exists():
        return text, table
    schema = pyarrow.schema({"id": "int64", "text": "string"})
    with open(text, "w") as file, parquet.ParquetWriter(table, schema) as writer:
        rows = enumerate(sentences(count))
        for begin in range(0, count, 10_000):
            part = [next(rows) for _ in range(min(10_000, count - begin))]
            file.writelines(f"{one}\n" for _, one in part)
            ids, texts = zip(*part, strict=True)
            writer.write_table(pyarrow.table({"id": ids, "text": texts}, schema=schema))
    return text, table


def score(source, output, *flags):
    """Runs tta score; see `measured`."""
    columns = ["--column=text"] if source.suffix == ".parquet" else []
    files = [f"--input_file={source}", f"--output_file={output}", "--overwrite"]
    return measured("score", *files, *columns, *flags)


def measured(*command):
    """Runs a command: seconds, seconds of its cores, and the most memory in MiB."""
    begin, silent = time.perf_counter(), subprocess.DEVNULL
    run = subprocess.Popen([*TTA, *command], stdout=silent, stderr=silent)
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode == 0, command
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def model_flags():
    """Of n-grams, if $TTA_KENLM names some, which are fast; else of the built-in model."""
    return [f"--model=kenlm:{os.environ['TTA_KENLM']}"] if "TTA_KENLM" in os.environ else []


def measure_time(folder, count=100_000, turns=3):
    """Seconds and those of cores, and the largest difference of scores."""
    from pyarrow import parquet

    text, table = write(folder, count)
    outputs = folder / "text.jsonl", folder / "table.parquet"
    for _ in range(turns):
        (text_s, text_cpu, _), (table_s, table_cpu, _) = (
            score(source, output, *model_flags())
            for source, output in zip((text, table), outputs, strict=True)
        )
        print(
            f"{count:,} rows: text {text_s:.1f} s ({text_cpu:.1f} of cores), Parquet {table_s:.1f} "
            f"({table_cpu:.1f}); ratio {table_s / text_s:.3f} ({table_cpu / text_cpu:.3f})",
            flush=True,
        )
    of_text = [json.loads(line)["score"] for line in outputs[0].read_text().splitlines()]
    found = parquet.read_table(outputs[1])
    assert found["id"].to_pylist() == list(range(count))
    difference = max(map(abs, map(float.__sub__, of_text, found["score"].to_pylist())))
    print(f"largest difference of scores: {difference:.2g}")


def measure_memory(folder, counts=(10_000, 100_000, 1_000_000)):
    """The most memory by the number of rows."""
    for count in counts:
        seconds, _, mib = score(write(folder, count)[1], folder / "table.parquet", *model_flags())
        print(f"{count:,} rows of Parquet: {mib:.0f} MiB, {seconds:.0f} s", flush=True)


def measure_kills(folder, count=40_000, kills=10):
    """Whether a run that is killed at random moments and resumed has the bytes of one run."""
    text, _ = write(folder, count)
    seconds, *_ = score(text, folder / "whole.jsonl", *model_flags())
    output, draw, ended = folder / "killed.jsonl", random.Random(), 0
    output.unlink(missing_ok=True)
    files = [f"--input_file={text}", f"--output_file={output}", "--resume", *model_flags()]
    for _ in range(kills):
        run = subprocess.Popen([*TTA, "score", *files], stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, seconds / 2))
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
        ended += run.wait() == 0
        if output.exists():
            break
    begin = time.perf_counter()
    if not output.exists():
        subprocess.run([*TTA, "score", *files], stderr=subprocess.DEVNULL, check=True)
    same = output.read_bytes() == (folder / "whole.jsonl").read_bytes()
    print(
        f"{kills} kills of a run of {seconds:.0f} s: the same bytes: {same}; the last run took "
        f"{time.perf_counter() - begin:.0f} s; ended before a kill: {ended}"
    )


def measure_cache(folder):
    """Seconds of `tta rerank` on Arctic, without a cache, and with it for the first times."""
    lists = Path(os.environ.get("TTA_DATA", "../shared/data"), "nbest/asr_arctic")
    (folder / "cache").unlink(missing_ok=True)
    dev, test = (lists / f"{part}.clean.json" for part in ("dev", "test"))
    for flags in ([], [f"--cache={folder / 'cache'}"], [f"--cache={folder / 'cache'}"]):
        files = [f"--nbest_file={test}", f"--dev_nbest_file={dev}", "--output_file=/dev/null"]
        seconds, cpu, _ = measured("rerank", *files, *flags)
        print(f"tta rerank {' '.join(flags)}: {seconds:.1f} s ({cpu:.1f} of cores)", flush=True)


PARTS = {
    "time": measure_time,
    "memory": measure_memory,
    "kill": measure_kills,
    "cache": measure_cache,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where files are written")
    parser.add_argument("parts", nargs="*", choices=PARTS, default=[*PARTS])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.parts:
        PARTS[name](arguments.folder)
