"""Trains autoencoders of several kinds from a biLM, and measures what they write down again.

    python -m benchmarks.nar.quality --data_dir=runs/single --text_file=heldout.txt
    python -m benchmarks.nar.quality --rows='AE, PAD;VAE, PAD' ...

The rows are those of Sohrab et al. (NAR-B2B), ours with the decoder of a T-TA, and an
autoregressive one. --data_dir is a data set of tta create-tfrecords with the vocabulary of
--init_checkpoint, --text_file has texts that it does not have. Every row is trained with the same
steps. The controls of tta reconstruct stand beside each result. Everything is kept in --work_dir,
so that the command goes on where it was stopped; all rows are printed at the end, as Markdown.

"MLM" is the control that the paper lacks: the biLM with the same number of further steps. It has no
latent vector; benchmarks/glue.py compares it with the halves of the autoencoders:

    python -m benchmarks.glue --models=bilm-small,runs/nar/mlm,encoder:runs/nar/ae--pad
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from absl import app, flags

from benchmarks import ROOT, evaluation_data
from benchmarks.trained_rows import chosen, is_trained, kept, pretrain, slug
from tta.choices import PRECISIONS
from tta.modeling.training.run_record import RUN_FILE

FLAGS = flags.FLAGS
STS = evaluation_data.FOLDER / "sts" / "stsb-en-dev.csv"


@dataclass(frozen=True)
class Row:
    """A model that is trained, and how it is measured.

    Attributes:
        name: of the row.
        config: a file of configs/.
        objective: of the training.
        changes: keys of the config.
        more_passes: further numbers of the decoder's passes to measure, besides one.
    """

    name: str
    config: str
    objective: str
    changes: dict[str, Any] = field(default_factory=dict)
    more_passes: tuple[int, ...] = ()

    def write_config(self, path: Path) -> None:
        """Writes the model's config."""
        values = json.loads((ROOT / "configs" / f"{self.config}.json").read_text(encoding="utf-8"))
        path.write_text(json.dumps(values | self.changes), encoding="utf-8")

    def results(self, work: Path) -> dict[str, tuple[int, Path]]:
        """{name of the line: (passes, file of the result)}."""
        found = {self.name: (1, work / f"{slug(self.name)}.json")}
        for number in self.more_passes:
            path = work / f"{slug(self.name)}.{number}-passes.json"
            found[f"{self.name}, {number} passes"] = number, path
        return found


def _rows():
    words, blank = {"decoder_input": "ground_truth", "predicts_length": False}, {}
    for objective, name in (("ae", "AE"), ("vae", "VAE"), ("full_vae", "full-VAE")):
        config = "small-autoencoder" if objective == "ae" else "small-vae"
        yield Row(f"{name}, PAD", config, objective, blank)
        yield Row(f"{name}, GTW", config, objective, words)
        if objective != "full_vae":
            yield Row(f"{name}, T-TA", config, objective, words | {"decoder_type": "tta"})
    yield Row("AE, AR", "small-autoencoder", "ae", words | {"decoder_type": "unilm"})
    # What was tried to raise the accuracy of "AE, PAD".
    yield Row("AE, PAD, latent 512", "small-autoencoder", "ae", {"latent_size": 512})
    for count in (4, 8):
        changes = {"latent_size": 256 // count, "num_latents": count}
        yield Row(f"AE, PAD, {count} of {256 // count}", "small-autoencoder", "ae", changes)
    yield Row("AE, PAD, 4 of 256", "small-autoencoder", "ae", {"num_latents": 4})
    masked = {"decoder_input": "masked"}
    yield Row("AE, masked", "small-autoencoder", "ae", masked, (4, 10))
    changes = masked | {"latent_size": 64, "num_latents": 4}
    yield Row("AE, masked, 4 of 64", "small-autoencoder", "ae", changes, (4, 10))
    yield Row("MLM", "small-bilm", "mlm")


ROWS = tuple(_rows())
COLUMNS = ("accuracy %", "another z", "z = 0", "frequent", "exact %", "BLEU", "nll")
LATENT = ("active units", "KL", "I(x; z)", "STS-B dev")


def main(_):
    work = Path(FLAGS.work_dir)
    work.mkdir(parents=True, exist_ok=True)
    for row in chosen(ROWS, FLAGS.rows):
        folder = trained(row, work)
        if row.objective != "mlm":
            for passes, path in row.results(work).values():
                kept(path, lambda folder=folder, passes=passes: measured(str(folder), passes))
    print(table(work))


def trained(row, work):
    """The folder of a trained model; trains it if it has not finished."""
    folder = work / slug(row.name)
    if not is_trained(folder):
        train(row, folder)
    return folder


def train(row: Row, folder: Path) -> None:
    """Trains a row, or resumes its training; `training_of` says how long it took."""
    is_new = not folder.exists()
    config = folder.with_name(f"{folder.name}.config.json")
    row.write_config(config)
    settings = {
        "input_dir": Path(FLAGS.data_dir).resolve(),
        "config_file": config.resolve(),
        "init_checkpoint": FLAGS.init_checkpoint,
        "objective": row.objective,
        "num_train_steps": FLAGS.num_train_steps,
        "num_warmup_steps": min(500, FLAGS.num_train_steps // 10),
        "learning_rate": FLAGS.learning_rate,
        "optimizer": "muon",
        "weights_dtype": "float16",
        "num_sampled_pieces": 3072,
        "mixed_precision": FLAGS.precision,
        "max_eval_batches": 20,
    }
    seconds = pretrain(folder, [f"--{name}={value}" for name, value in settings.items()])
    if is_new:
        record = {"seconds": seconds, "cores": len(os.sched_getaffinity(0))}
        _time_file(folder).write_text(json.dumps(record), encoding="utf-8")


def training_of(folder: Path) -> dict | None:
    """The settings of a training, with its "seconds" and "cores"; None if it has not finished.

    A run that was resumed has no time.
    """
    path = _time_file(folder)
    if not is_trained(folder):
        return None
    run = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    return run | (json.loads(path.read_text(encoding="utf-8")) if path.exists() else {})


def _time_file(folder):
    return folder.with_name(f"{folder.name}.time.json")


def measured(model, passes):
    """{column: number} of an autoencoder that decodes in some passes; None where there is none."""
    from tta.papers.nar import report as names
    from tta.papers.nar.reconstruct import reconstruct
    from tta.papers.nar.reconstruct_config import ReconstructConfig
    from tta.scoring.similarity.config import StsConfig
    from tta.scoring.similarity.sts import compare_files

    config = ReconstructConfig(
        input_file=FLAGS.text_file, max_texts=FLAGS.max_texts, num_passes=passes
    )
    report = reconstruct(config, model)
    result = report.row(names.RECONSTRUCTION)
    controls = (names.ANOTHER, names.ZERO, names.FREQUENT)
    values = [result.hits.accuracy(), *(report.row(one).hits.accuracy() for one in controls)]
    values += [result.hits.exact_match(), result.bleu, result.nll]
    latent = report.latent
    values += [latent.active_units, latent.kl, latent.mutual_information]
    pairs = StsConfig(sts_file=[str(STS)], representation=["latent"])
    values.append(compare_files(pairs, [model]).results[0].correlation.pearson)
    return dict(zip((*COLUMNS, *LATENT), map(_plain, values), strict=True))


def _plain(value):
    return None if value is None else float(value)


def table(work):
    """All rows that were measured, as Markdown."""
    columns = (*COLUMNS, *LATENT)
    lines = [f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    results = (one for row in ROWS for one in row.results(work).items())
    for name, (_, path) in results:
        if path.exists():
            values = json.loads(path.read_text(encoding="utf-8"))
            cells = ("-" if values[c] is None else f"{values[c]:.2f}" for c in columns)
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    flags.DEFINE_string("work_dir", "runs/nar", "Folder of models and results.")
    flags.DEFINE_string("data_dir", None, "Data set of tta create-tfrecords.", required=True)
    flags.DEFINE_string("text_file", None, "Texts to reconstruct, one per line.", required=True)
    flags.DEFINE_integer("max_texts", 2000, "How many of them.", lower_bound=1)
    flags.DEFINE_string("init_checkpoint", "bilm-small", "The biLM that both halves start from.")
    flags.DEFINE_integer("num_train_steps", 4000, "Steps of each model.", lower_bound=1)
    flags.DEFINE_float("learning_rate", 1e-3, "Peak learning rate.", lower_bound=0.0)
    flags.DEFINE_enum("precision", "bfloat16", PRECISIONS, "Type of the products.")
    flags.DEFINE_string("rows", None, "Names of rows, separated by ';'. Default: all.")
    app.run(main)
