"""The evaluation data: its folder, and lists of which no test sentence is a dev sentence.

    python -m benchmarks.evaluation_data

prints the folder of the data. `--lists` writes the lists that are split below, and prints their
folder. Two sets share sentences between dev and test, so they are split once, here:

- IWSLT'14, by source sentence: a sentence stands in the test file once, and in the dev file once if
  the test file lacks it.
- ATIS, by reference: the dev file loses the sentences that the test file has.
"""

import argparse
import json
import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import ROOT
from tta.data.text.files import open_output

FOLDER = Path(os.environ.get("TTA_DATA") or ROOT.parent / "shared" / "data")
SPLIT_LISTS = ROOT / "runs" / "lists"


def path(name: str, folder: Path | None = None) -> Path:
    """A file of the data by its name below the folder; of split lists, the split file.

    Split files are written to SPLIT_LISTS where they are missing or differ from the data.

    Args:
        name: for example "nbest/mt_iwslt14_deen/dev.nbest".
        folder: the folder of the data. Default: FOLDER.
    """
    source = Path(folder or FOLDER, name)
    split = SPLITS.get(Path(name).parent.as_posix(), {}).get(source.name)
    if split is None or not source.exists():
        return source
    target = SPLIT_LISTS / name
    target.parent.mkdir(parents=True, exist_ok=True)
    text = split(source)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        with open_output(target, overwrite=True) as stream:
            stream.write(text)
    return target


def first_of_each(sentences: Iterable[str], left_out: Iterable[str] = ()) -> list[int]:
    """The positions at which sentences stand for the first time, without those left out."""
    seen, positions = set(left_out), []
    for position, sentence in enumerate(sentences):
        if sentence not in seen:
            seen.add(sentence)
            positions.append(position)
    return positions


def _translations(source: Path) -> str:
    """The lines of a Moses file, or of one with a line per list, of the lists of its part."""
    test = _lines(source.with_name("test.src"))
    is_test = source.stem == "test"
    sentences = test if is_test else _lines(source.with_name("dev.src"))
    positions = first_of_each(sentences, () if is_test else test)
    lines = _lines(source)
    if source.suffix != ".nbest":
        return "".join(f"{lines[position]}\n" for position in positions)
    number_of = {str(position): number for number, position in enumerate(positions)}
    hypotheses = [line.split(" ||| ", 1) for line in lines]
    return "".join(
        f"{number_of[position]} ||| {hypothesis}\n"
        for position, hypothesis in hypotheses
        if position in number_of
    )


def _flight_requests(source: Path) -> str:
    """The dev lists of ATIS whose references the test lists lack, as JSON."""
    lists, test = (
        json.loads(file.read_text(encoding="utf-8"))
        for file in (source, source.with_name("test_atis.json"))
    )
    test_sentences = {nbest["output"] for nbest in test}
    return json.dumps([nbest for nbest in lists if nbest["output"] not in test_sentences])


def _lines(file: Path) -> list[str]:
    with open(file, encoding="utf-8", newline="\n") as stream:
        return [line.rstrip("\n") for line in stream]


# Folder of the data -> its files that are split -> the text of the split file.
SPLITS: dict[str, dict[str, Callable[[Path], str]]] = {
    "nbest/mt_iwslt14_deen": {
        f"{part}.{kind}": _translations
        for part in ("dev", "test")
        for kind in ("nbest", "ref", "src")
    },
    "nbest/asr_hyporadise": {"train_atis.json": _flight_requests},
}


def sample(path: Path, count: int, folder: Path) -> Path:
    """A file in `folder` with the header and at most `count` rows of a table; always the same."""
    with open(path, encoding="utf-8", newline="\n") as file:
        header, *rows = file
    drawn = folder / f"{path.parent.name}.{count}.{path.name}"
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join([header, *random.Random(0).sample(rows, min(count, len(rows)))])
    drawn.write_text(text, encoding="utf-8")
    return drawn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--lists", action="store_true", help="write the split lists")
    if parser.parse_args().lists:
        for data_folder, files in SPLITS.items():
            for file_name in files:
                path(f"{data_folder}/{file_name}")
        print(SPLIT_LISTS)
    else:
        print(FOLDER)
