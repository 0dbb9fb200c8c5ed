"""Fine-tunes a model on labelled texts: runs of several rates and seeds, and the best one's model.

The output folder has the model of the best run so far, `runs/rate-R-seed-S/` per run, and
`run.json`, the settings. A run is finished when its outputs on the dev part are in `dev.npy`.
"""

import dataclasses
import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tta
from tta.atomic import check_new_folder, copy_present, locked_folder, whole_file
from tta.checked_files import read_json_object
from tta.data.records.features import inputs_in
from tta.data.text.files import file_digest, open_output
from tta.data.text.lines import named_files
from tta.errors import InputError, located
from tta.modeling.training.run_record import RUN_FILE, check_settings_kept
from tta.names import INPUT_FILES, README, VOCABULARY
from tta.papers.glue.classifier_model import ClassifierModel, probabilities
from tta.papers.glue.classify_config import ClassifyConfig
from tta.papers.glue.data.inputs import encode_rows
from tta.papers.glue.examples import Part, read_examples, seen_notes
from tta.papers.glue.report import (
    ClassifyReport,
    Run,
    measure,
    predicted_targets,
    rate_rows,
    shown,
    signature,
)
from tta.papers.semfit.vectors.target_vectors import map_vectors
from tta.scoring.scorers.scorer import unknown_note
from tta.scoring.scorers.text_model import TextModel

RUNS, DEV_OUTPUTS, BEST = "runs", "dev.npy", "best.json"
DEV_PREDICTIONS, TEST_PREDICTIONS = "dev_predictions.tsv", "test_predictions.tsv"

# Settings that may change when the command is repeated: more runs are added to those before. The
# contents of the files are compared, not their paths.
FREE_TO_CHANGE = {
    *("output_dir", "data_dir", "train_file", "dev_file", "test_file"),
    *("learning_rates", "num_seeds", "seed"),
}


def classify(config: ClassifyConfig, model: str | None = None) -> ClassifyReport | None:
    """Fine-tunes a model on labelled texts, or goes on with an interrupted call.

    For each learning rate and seed, all weights of the model's encoder and a new head are trained;
    with pooling "mix", the head alone.
    The model with the highest first measure on the dev part is kept in `config.output_dir`; of
    equal ones, the first.

    Args:
        config: the texts, the folder to write, and how to train.
        model: as in `tta.load`, a T-TA, cloze, biLM, uniLM, BERT or ELMo, or a fine-tuned
            classifier, whose encoder is trained further.

    Returns:
        The report; None if SIGTERM stopped a run. Repeat the call to go on.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped the training.
        InputError: a file is missing or malformed, the folder has something else, settings changed,
            the model cannot be fine-tuned, or the training diverged.
        OSError: the disk is full.
    """
    folder = Path(config.output_dir)
    _check_folder(folder)
    check_settings_kept(config, FREE_TO_CHANGE)
    examples = read_examples(config)
    for line in filter(None, [examples.label_counts, *examples.notes]):
        print(line, file=sys.stderr)
    lm = _load(model)
    record = dataclasses.asdict(config) | {
        "model": lm.signature,
        "data": [_digest(part.path) for part in (examples.train, examples.dev)],
    }
    _check_record(folder, record, lm, examples)
    folder.mkdir(parents=True, exist_ok=True)
    with locked_folder(folder):
        with open_output(folder / RUN_FILE, overwrite=True) as file:
            file.write(json.dumps(record, indent=2) + "\n")
        notes = _run_all(config, lm, examples, folder)
        return None if notes is None else _finish(config, lm, examples, folder, notes)


def _digest(names):
    """The digests of the files of a part."""
    return "+".join(map(file_digest, named_files(names)))


def _check_folder(folder):
    """Raises InputError unless the folder is new, empty, or one of an earlier call."""
    if not (folder / RUN_FILE).exists():
        return check_new_folder(folder)
    if "learning_rates" not in read_json_object(folder / RUN_FILE):
        raise InputError("expected a new or an empty folder, got that of a pretraining", folder)
    if (folder / BEST).exists():
        best = read_json_object(folder / BEST)
        run = folder / RUNS / _name((best.get("learning_rate"), best.get("seed")))
        if not run.is_dir():
            raise InputError(
                "the run of the model in this folder is gone: the training would begin anew and "
                "replace it; choose another --output_dir",
                run,
            )


def _check_record(folder, record, lm, examples):
    """Raises InputError if the folder was begun with another model or other data."""
    if not (folder / RUN_FILE).exists():
        return
    before = read_json_object(folder / RUN_FILE)
    end = "choose another --output_dir"
    if before.get("model") != record["model"]:
        raise InputError(f"this run began with another model than {lm.name}; {end}", folder)
    if before.get("data") != record["data"]:
        files = f"{examples.train.path} and {examples.dev.path}"
        raise InputError(f"this run began with other examples than those of {files}; {end}", folder)


def _load(model: str | None) -> TextModel:
    """The model to start from; InputError if it cannot be fine-tuned."""
    lm = tta.load(model)
    if not isinstance(lm, TextModel):
        raise InputError(
            "only a model with an encoder can be fine-tuned (T-TA, cloze, biLM, uniLM, BERT, "
            f"ELMo), not a {type(lm).__name__}",
            lm.name,
        )
    if lm.model_type == "autoencoder":
        raise InputError("of an autoencoder, name a half: encoder:MODEL or decoder:MODEL", lm.name)
    if lm.tokenizer is None:
        raise InputError(f"no {VOCABULARY}, which fine-tuning needs", lm.directory or lm.name)
    return lm


def _run_all(config, lm, examples, folder) -> list[str] | None:
    """Takes every run that is not finished; returns notes, or None if one was stopped."""
    from tta.modeling.formats.model_directory import load_model
    from tta.papers.glue import fine_tuning

    start = lm.model if lm.directory is None else load_model(lm.directory, keep_segments=True)
    with located(path=lm.directory):
        model_config = fine_tuning.classifier_config(start, lm.tokenizer, examples, config)
        inputs = inputs_in(lm.directory or folder, model_config, lm.tokenizer)
    length = model_config.max_seq_length
    rows, is_cut = encode_rows(lm.tokenizer, examples.train.columns, length)
    _, is_cut_dev = encode_rows(lm.tokenizer, examples.dev.columns, length)
    notes = [
        f"{count:,} {part} examples were cut to {length} tokens"
        for part, count in (("training", is_cut.sum()), ("dev", is_cut_dev.sum()))
        if count
    ]
    lm.tokenizer.vocabulary.save(folder / VOCABULARY, overwrite=True)
    if lm.directory is not None and model_config.input_features:
        copy_present(lm.directory, folder, INPUT_FILES)
    seeds = range(config.seed, config.seed + config.num_seeds)
    runs = [(rate, seed) for rate in config.learning_rates for seed in seeds]
    for number, run in enumerate(runs, 1):
        work = folder / RUNS / _name(run)
        if (work / DEV_OUTPUTS).exists():
            _remove_checkpoints(work)  # of a run that was killed while it removed them
            continue
        model = fine_tuning.fine_tune(
            config,
            model_config,
            start,
            lm.tokenizer,
            inputs=inputs,
            rows=rows,
            targets=examples.train.gold,
            run=run,
            folder=work,
        )
        if model is None:
            return None
        tuned = ClassifierModel(model, lm.tokenizer, folder.name, directory=folder)
        outputs = tuned.logits(examples.dev.texts)
        values = _keep_if_best(model, outputs, examples, folder, run=run, start=lm.name)
        with whole_file(work / DEV_OUTPUTS) as file:
            np.save(file, outputs)
        _remove_checkpoints(work)
        print(f"run {number} of {len(runs)}, {_name(run)}: {shown(values)}", file=sys.stderr)
    return notes


def _remove_checkpoints(work):
    for leftover in ("checkpoints", "logs"):
        shutil.rmtree(work / leftover, ignore_errors=True)


def _keep_if_best(model, outputs, examples, folder, run, start):
    """Writes the model if it is better than those of all finished runs; returns its measures."""
    from tta.modeling.formats.model_directory import save_model

    metric = examples.metrics[0]
    values = _values(examples, outputs)
    finished = finished_runs(folder, len(outputs)).values()
    finished_values = [_values(examples, of_run)[metric] for of_run in finished]
    if all(values[metric] > value for value in finished_values):
        save_model(model, folder, _card(folder, examples, start, f"{_name(run)}: {shown(values)}"))
        with open_output(folder / BEST, overwrite=True) as file:
            json.dump({"learning_rate": run[0], "seed": run[1]}, file)
    return values


def _values(examples, outputs):
    predicted = predicted_targets(outputs, examples.labels)
    return measure(examples, examples.dev.gold, predicted)


def finished_runs(folder: Path, num_texts: int | None = None) -> dict[Run, np.ndarray]:
    """{(learning rate, seed): outputs on the dev part [N, L]} of the finished runs, in order.

    Raises InputError if a file is damaged, or has not `num_texts` rows (None takes any).
    """
    runs = {}
    for path in (folder / RUNS).glob(f"*/{DEV_OUTPUTS}"):
        match = re.fullmatch(r"rate-(.+)-seed-(\d+)", path.parent.name)
        if match:
            outputs = map_vectors(path)
            if num_texts not in (None, len(outputs)):
                raise InputError(f"it has {len(outputs):,} rows, not {num_texts:,}", path)
            runs[float(match[1]), int(match[2])] = outputs
    return dict(sorted(runs.items()))


def _name(run):
    return f"rate-{run[0]}-seed-{run[1]}"


def _finish(config, lm, examples, folder, notes) -> ClassifyReport:
    """Writes the predictions and the final README; returns the report."""
    dev = finished_runs(folder, len(examples.dev.texts))
    chosen = read_json_object(folder / BEST)
    best: Any = chosen.get("learning_rate"), chosen.get("seed")
    if best not in dev:
        raise InputError("it names no run with outputs on the dev part", folder / BEST)
    _write(folder / DEV_PREDICTIONS, dev[best], examples, examples.dev)
    test_values = None
    if examples.test is not None:
        tuned = tta.load(folder)
        assert isinstance(tuned, ClassifierModel)
        test_values = _predict_test(tuned, examples, examples.test, folder)
    model_config = read_json_object(folder / "config.json")
    parts = {"train": examples.train, "dev": examples.dev, "test": examples.test}
    report = ClassifyReport(
        name=examples.name,
        counts={name: len(part.texts) for name, part in parts.items() if part is not None},
        metrics=examples.metrics,
        rows=rate_rows(examples, dev),
        best=best,
        best_values=_values(examples, dev[best]),
        test_values=test_values,
        directory=folder,
        notes=[*examples.notes, *seen_notes(examples), *notes, *unknown_note(lm, _texts(parts))],
        signatures=[
            lm.signature,
            signature(config, model_config["max_seq_length"], sorted({seed for _, seed in dev})),
        ],
    )
    with whole_file(folder / README) as file:
        file.write(_card(folder, examples, lm.name, str(report)).encode())
    return report


def _texts(parts) -> list[str]:
    """The texts of all parts, those of pairs one after the other."""
    examples = [text for part in parts.values() if part is not None for text in part.texts]
    return [
        text
        for example in examples
        for text in ([example] if isinstance(example, str) else example)
    ]


def _predict_test(tuned, examples, test: Part, folder) -> dict[str, float] | None:
    outputs = tuned.logits(test.texts, notes=True)
    _write(folder / TEST_PREDICTIONS, outputs, examples, test)
    if test.targets is None:
        return None
    return measure(examples, test.gold, predicted_targets(outputs, examples.labels))


def _write(path, outputs, examples, part):
    if examples.limits is not None:
        outputs = np.clip(outputs, *examples.limits)
    write_predictions(path, outputs, examples.labels, part.numbers)


def write_predictions(
    path: Path, outputs: np.ndarray, labels: Sequence[str], numbers: Sequence[int]
) -> None:
    """Writes predictions as a table: index, prediction, and the labels' probabilities.

    The first two columns are those that GLUE's server takes. `outputs` are [N, L], and `numbers`
    the N rows, counted from 0.
    """
    rows = [["index", "prediction", *(f"p({label})" for label in labels)]]
    if labels:
        for index, chances in zip(numbers, probabilities(outputs), strict=True):
            rows.append(
                [
                    f"{index}",
                    labels[int(chances.argmax())],
                    *(f"{chance:.4f}" for chance in chances),
                ]
            )
    else:
        rows += [
            [f"{index}", f"{value:.4f}"]
            for index, value in zip(numbers, outputs[:, 0], strict=True)
        ]
    with open_output(path, overwrite=True) as file:
        # A quote in a label is part of it. `read_table` refuses labels with tabs and line ends.
        file.writelines("\t".join(cells) + "\n" for cells in rows)


def _card(folder, examples, start, results):
    return (
        f"# {folder.name}\n\nThe model `{start}`, fine-tuned with tta classify of tta-lm on "
        f"{examples.name}, {len(examples.train.texts):,} examples.\n\n```\n{results}\n```\n"
    )
