"""Short runs of an autoencoder at several learning rates: what its halves still know of the biLM.

    python -m benchmarks.nar.rates --data_dir=runs/single --text_file=heldout.txt
    python -m benchmarks.nar.rates --rates=5e-5,1.5e-3 --rows='AE, GTW' --num_train_steps=500 ...

Sohrab et al. train both halves, which start from BERT, gently: AdamW at 5e-5. A rate that is too
high makes the decoder forget what the biLM knew. Each row is trained from --init_checkpoint with
the same steps, once per rate and optimizer, with one latent vector of the hidden size. Then
tta probe reads TREC and MR off the vectors of each half (a linear classifier, a cheap measure of
what GLUE would show), and tta reconstruct measures the whole. The start stands above, and the
control: as many steps of masked language modeling at the same rates. --data_dir and --text_file are
as in benchmarks/nar/quality.py. Everything is kept in --work_dir, so that the command goes on where
it was stopped; the table is printed at the end, as Markdown.
"""

import itertools
from pathlib import Path

from absl import app, flags

from benchmarks import evaluation_data
from benchmarks.nar.quality import reconstruction, train
from benchmarks.trained_rows import Row, chosen, is_trained, kept, slug
from tta.choices import PRECISIONS

FLAGS = flags.FLAGS
SENTENCES = evaluation_data.FOLDER / "labelled" / "sentences"
RATES = ("5e-5", "1e-4", "2e-4", "5e-4", "1.5e-3")
OPTIMIZERS = ("adamw", "muon")
# Optimus (Li et al. 2020) starts from BERT and GPT-2; lambda is .5.
OPTIMUS = {"init_encoder": "bilm-small", "init_decoder": "unilm-small", "kl_threshold": 0.5}


def models_of(row: Row) -> dict[str, str]:
    """How tta.load names what is probed, by its name in the table; %s is the folder."""
    if row.objective == "mlm":
        return {"all of it": "%s"}
    if row.start:  # the decoder of Optimus is no BERT
        return {"encoder": "encoder:%s"}
    return {"encoder": "encoder:%s", "decoder": "decoder:%s"}


COLUMNS = ("TREC", "MR", "accuracy %", "z of another text %")
ROWS = (
    Row("AE, GTW", "small-autoencoder-gtw", "ae"),
    Row("AE, PAD", "small-autoencoder", "ae", {"predicts_length": False}),
    Row("VAE, GTW", "small-vae-gtw", "vae"),
    Row("VAE, PAD", "small-vae-gtw", "vae", {"decoder_input": "pad"}),
    Row("full-VAE, GTW", "small-vae-gtw", "full_vae"),
    Row("Optimus", "small-optimus", "vae", {}, OPTIMUS),
    Row("MLM", "small-bilm", "mlm"),
)


def main(_):
    work = Path(FLAGS.work_dir)
    work.mkdir(parents=True, exist_ok=True)
    start = {"all of it": probed(FLAGS.init_checkpoint, work / "start.json")}
    lines = [*_lines("start", "", start)]
    rows = chosen(ROWS, FLAGS.rows)
    for row, optimizer, rate in itertools.product(rows, FLAGS.optimizers, FLAGS.rates):
        folder = work / slug(f"{row.name} {optimizer} {rate}")
        if not is_trained(folder):
            train(
                row,
                folder,
                num_warmup_steps=FLAGS.num_train_steps // 10,
                learning_rate=rate,
                optimizer=optimizer,
            )
        found = {
            name: probed(model % folder, folder.with_suffix(f".{slug(name)}.json"))
            for name, model in models_of(row).items()
        }
        if row.objective != "mlm":
            found["both"] = kept(
                folder.with_suffix(".text.json"), lambda folder=folder: reconstructed(str(folder))
            )
        lines += _lines(row.name, f"{optimizer}, {rate}", found)
    heads = ["", "optimizer, rate", "part", *COLUMNS]
    print(f"| {' | '.join(heads)} |", "|---|---|---|" + "---:|" * len(COLUMNS), *lines, sep="\n")


def _lines(name, how, found):
    """A line of the table per part."""
    for part, values in found.items():
        cells = (f"{values[c]:.2f}" if c in values else "" for c in COLUMNS)
        yield f"| {name} | {how} | {part} | {' | '.join(cells)} |"


def probed(model, path):
    """The accuracy of a linear classifier on the model's vectors: {"TREC": percent, "MR": ...}."""

    def measure():
        from tta.papers.probing.config import ProbeConfig
        from tta.papers.probing.probe import probe_files
        from tta.scoring.scorers.options import EncodeOptions

        trec, folds = SENTENCES / "TREC", {"num_folds": 5, "num_seeds": 1}
        files = {
            "TREC": {
                "data_file": str(trec / "train.tsv"),
                "test_file": str(trec / "test.tsv"),
            },
            "MR": {"data_file": str(SENTENCES / "MR/all.tsv")},
        }
        # Without masks, in one pass, as in fine-tuning.
        variant = "original" if model.startswith("encoder:") else "maskless"
        options = EncodeOptions(pll_variant=variant)
        return {
            name: probe_files(ProbeConfig(**given, **folds), [model], options).rows[1].mean
            for name, given in files.items()
        }

    return kept(path, measure)


def reconstructed(model):
    """How many pieces of the held-out texts an autoencoder writes at their position, in percent."""
    from tta.papers.nar import report as names

    report = reconstruction(model)
    rows = {"accuracy %": names.RECONSTRUCTION, "z of another text %": names.ANOTHER}
    return {column: float(report.row(row).hits.accuracy()) for column, row in rows.items()}


if __name__ == "__main__":
    flags.DEFINE_string("work_dir", "runs/nar-rates", "Folder of models and results.")
    flags.DEFINE_string("data_dir", None, "Data set of tta create-tfrecords.", required=True)
    flags.DEFINE_string("text_file", None, "Texts to reconstruct, one per line.", required=True)
    flags.DEFINE_integer("max_texts", 1000, "How many of them.", lower_bound=1)
    flags.DEFINE_string("init_checkpoint", "bilm-small", "The biLM that both halves start from.")
    flags.DEFINE_integer("num_train_steps", 500, "Steps of each run.", lower_bound=10)
    flags.DEFINE_list("rates", list(RATES), "Peak learning rates.")
    flags.DEFINE_list("optimizers", list(OPTIMIZERS[:1]), "Optimizers: adamw, muon.")
    flags.DEFINE_enum("precision", "bfloat16", PRECISIONS, "Type of the products.")
    flags.DEFINE_string("rows", None, "Names of rows, separated by ';'. Default: all.")
    app.run(main)
