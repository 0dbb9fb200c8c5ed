"""Trains models with different output layers for equal time or steps, and compares their vectors.

    python -m benchmarks.semfit.quality --minutes=30 --num_seeds=2 \\
        --pieces_dir=runs/data/tfrecords --words_dir=runs/data/words
    python -m benchmarks.semfit.quality --rows='ELMo-A;ELMo-S_ONEB' ...

The counterpart of Tables 3 and 4 of Li et al. 2019. The two folders are data sets of
tta create-tfrecords, of word pieces (with the vocabulary of the built-in model) and of words. A
model is trained with as many steps as fit into --minutes, by the time of a step that is measured
first, or with --num_train_steps, which gives models of words equal words. Then its mean vectors are
compared with STS-B dev and SICK train (Pearson's r x 100), and tta probe measures labelled
sentences. With --all_probes, it also measures SST-2 and pairs of SNLI, with 6,000 training examples
each, and the named entities of WNUT, of the first seed. With --mix, models of the tasks of the
paper's Table 3 read the learned mix of the layers (tta probe --features=mix), as in the paper.
Everything is kept in --work_dir, so that the command goes on where it was stopped; all rows are
printed at the end. With --json, they are written to a file, which benchmarks/semfit/tables.py
reads, with the differences from ELMo-S_ONEB on TREC and SNLI and their 95 % intervals.

quality.json is of one text for all rows, the vectors included: the first 778,000 words of Simple
English Wikipedia, a sentence per line.

    tta create-vocab --tokenizer=words --min_count=3 --input_file=text.txt --vocab_file=words.txt
    tta create-tfrecords --tokenizer=words --vocab_file=words.txt --output_dir=words ...
    tta create-tfrecords --vocab_file=tta/small/vocab.txt --output_dir=pieces ...

where ... is `--input_file=text.txt --num_shards=16 --heldout_fraction=0.005 --max_seq_length=64`.
All rows are then trained with --num_seeds=1 --num_train_steps=500 --all_probes, ELMo-Sub with 544
steps, which are as many words.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from absl import app, flags

from benchmarks import ROOT, evaluation_data
from benchmarks.semfit.rows import NOT_MEASURED, PIECES, ROWS, VECTORS
from benchmarks.trained_rows import chosen, is_trained, kept, pretrain, slug
from tta.choices import PRECISIONS
from tta.modeling.training.run_record import RUN_FILE

FLAGS = flags.FLAGS
MIX = "mix"
FEW, MORE = 20, 100  # steps of the two runs whose difference is the time of a step
STS = {"STS-B dev": "stsb-en-dev.csv", "SICK train": "SICK_train.txt"}
LABELLED = evaluation_data.FOLDER / "labelled"
SENTENCES = LABELLED / "sentences"
PROBES = {
    "MR": {"data_file": SENTENCES / "MR/all.tsv"},
    "SUBJ": {"data_file": SENTENCES / "SUBJ/all.tsv"},
    "TREC": {
        "data_file": SENTENCES / "TREC/train.tsv",
        "test_file": SENTENCES / "TREC/test.tsv",
    },
    "SST-5": {
        "data_file": SENTENCES / "SST-5/train.tsv",
        "test_file": SENTENCES / "SST-5/dev.tsv",
    },
}
BASE, COMPARED = "ELMo-S_ONEB", ("TREC", "SNLI")  # whose differences from others have intervals
MIXED = ("SNLI", "SST-5", "WNUT")  # as in the paper's Table 3; Table 4 has linear classifiers
SAMPLED, SAMPLE = ("SST-2", "SNLI"), 6000  # large sets, and how many of their training examples
WNUT = {"data_file": "train.conll", "dev_file": "dev.conll", "test_file": "test.conll"}
MORE_PROBES = {
    "SST-2": {
        "data_file": LABELLED / "glue/SST-2/train.tsv",
        "test_file": LABELLED / "glue/SST-2/dev.tsv",
    },
    "SNLI": {
        "data_file": LABELLED / "glue/SNLI/train.tsv",
        "test_file": LABELLED / "glue/SNLI/dev.tsv",
        "label_column": "gold_label",
    },
    "WNUT": {flag: LABELLED / "ner/wnut17" / name for flag, name in WNUT.items()} | {"ner": True},
}


def main(_):
    work = Path(FLAGS.work_dir)
    work.mkdir(parents=True, exist_ok=True)
    rows = chosen(ROWS, FLAGS.rows)
    for seed in range(FLAGS.num_seeds):
        for row in rows:
            model = trained(row, seed, work)
            keep(row.name, seed, str(model), row.representations, work)
    for name, (data, _) in VECTORS.items():
        folder = work / "vectors" / name
        if data != PIECES and (folder / "vectors.npy").exists():
            # The baseline: the mean of the words' own vectors.
            keep(f"mean of {name}", 0, f"vectors:{folder}", ("embed",), work)
    found = results(work)
    print(table(found))
    if FLAGS.json:
        Path(FLAGS.json).write_text(json.dumps(record(found, work), indent=1) + "\n", "utf-8")


def record(found, work):
    """What is written to --json: all values, how the rows were trained, and differences."""
    values, trainings = {}, {}
    for (name, representation), columns in found.items():
        values.setdefault(name, {})[representation] = columns
        folder = work / f"{slug(name)}-0"
        if is_trained(folder):
            run = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
            about = (folder / "README.md").read_text(encoding="utf-8").partition("Held-out: ")[2]
            trainings[name] = {
                "steps": run["num_train_steps"],
                "batch_tokens": run["train_batch_tokens"],
                "held_out": about.partition("\n")[0],
            }
    return {"values": values, "trainings": trainings, "differences": compared(found, work)}


def compared(found, work):
    """BASE minus the other trained rows on COMPARED: {column: {other: [value, low, high]}}.

    A column is empty without BASE, or if no other row was measured on it.
    """
    differences = {}
    for column in COMPARED:
        rows = [n for (n, vectors), v in found.items() if vectors == "layers" and column in v]
        folders = {name: work / f"{slug(name)}-0" for name in rows}
        rows = [name for name in rows if is_trained(folders[name])]
        differences[column] = {}
        if BASE in rows:
            others = [name for name in rows if name != BASE]
            models = [str(folders[name]) for name in (BASE, *others)]
            values = differences_of(column, models, work)
            differences[column] = dict(zip(others, values, strict=True))
    return differences


def differences_of(column, models, work):
    """The first model minus each of the others on a column: [[value, low, high], ...]."""
    from tta.papers.probing.probe import probe_files

    config = probe_config((PROBES | more_probes(work))[column], representation=["layers"])
    report = probe_files(config, models)  # it has the other minus the first
    return [[-one.value, -one.interval[1], -one.interval[0]] for one in report.differences]


def keep(name, seed, model, representations, work):
    """Measures a model once, and keeps the results."""
    stem = work / f"{slug(name)}-{seed}"
    kept(
        stem.with_suffix(".json"),
        lambda: {"name": name, "values": measured(model, representations)},
    )
    if FLAGS.all_probes and seed == 0:
        # The layers side by side are what users of ELMo read.
        best = "layers" if "layers" in representations else representations[0]
        kept(
            stem.with_suffix(".more.json"),
            lambda: {"name": name, "values": probed(model, [best], more_probes(work))},
        )
    if FLAGS.mix and seed == 0:
        kept(
            stem.with_suffix(".mix.json"),
            lambda: {"name": name, "values": {MIX: probed_by_mix(model, work)}},
        )


def trained(row, seed, work):
    """The folder of a trained model; trains it if it has not finished."""
    folder = work / f"{slug(row.name)}-{seed}"
    if not is_trained(folder):
        steps = FLAGS.num_train_steps or round(60 * FLAGS.minutes / seconds_per_step(row, work))
        train(row, folder, steps, seed)
    return folder


def train(row, folder, steps, seed=0):
    """Trains a row; the seconds that it took."""
    given = [
        *(f"--seed={seed}", f"--input_dir={data_of(row.data)}", *row.flags),
        *(f"--config_file={config_of(row)}", f"--num_train_steps={steps}"),
        *(f"--num_warmup_steps={min(500, steps // 10)}", f"--mixed_precision={FLAGS.precision}"),
        "--max_eval_batches=20",
    ]
    if row.vectors:
        given.append(f"--vectors={vectors_of(row.vectors)}")
    return pretrain(folder, given)


def seconds_per_step(row, work):
    """The time of a training step, measured once: two short runs differ by many steps."""

    def measure():
        folders = {steps: work / f"timing-{slug(row.name)}-{steps}" for steps in (FEW, FEW + MORE)}
        for folder in folders.values():  # a resumed run would be too short
            shutil.rmtree(folder, ignore_errors=True)
        few, more = (train(row, folder, steps) for steps, folder in folders.items())
        return (more - few) / MORE

    return kept(work / f"{slug(row.name)}.seconds", measure)


def config_of(row):
    """The config file of a row, without clusters that begin beyond the vocabulary of the data."""
    path = ROOT / "configs" / f"{row.config}.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    info = json.loads((data_of(row.data) / "dataset.json").read_text(encoding="utf-8"))
    given = values.get("adaptive_cutoffs", [])
    cutoffs = [one for one in given if one < info["vocab_size"]]
    if cutoffs == given:
        return path
    fitting = Path(FLAGS.work_dir).resolve() / "configs" / path.name
    fitting.parent.mkdir(exist_ok=True)
    fitting.write_text(json.dumps(values | {"adaptive_cutoffs": cutoffs}), encoding="utf-8")
    return fitting


def data_of(kind):
    return Path(FLAGS.pieces_dir if kind == PIECES else FLAGS.words_dir).resolve()


def vectors_of(source):
    """The folder of vectors; makes them if they are not there."""
    data, options = VECTORS[source]
    folder = Path(FLAGS.work_dir).resolve() / "vectors" / source
    if not (folder / "vectors.npy").exists():
        code = "from tta.papers.semfit.command import run; run()"
        rows = {row.name: row for row in ROWS if f"{{{row.name}}}" in " ".join(options)}
        models = {name: trained(row, 0, folder.parents[1]) for name, row in rows.items()}
        options = [option.format(**models) for option in options]
        given = [f"--input_dir={data_of(data)}", f"--output_dir={folder}", "--num_workers=2"]
        folder.parent.mkdir(exist_ok=True)
        command = [sys.executable, "-c", code, *given, "--num_epochs=1", *options]
        subprocess.run(command, cwd=ROOT, check=True)
    return folder


def measured(model, representations):
    """Measures a model: {representation: {column: number}}."""
    from tta.scoring.similarity.config import StsConfig
    from tta.scoring.similarity.sts import compare_files

    values = probed(model, representations, PROBES)
    for column, file in STS.items():
        config = StsConfig(
            sts_file=[str(evaluation_data.FOLDER / "sts" / file)],
            representation=list(representations),
        )
        for result in compare_files(config, [model]).results:
            values[result.vectors][column] = result.correlation.pearson
    return values


def probed(model, representations, probes):
    """The results of tta probe: {representation: {column: number}}."""
    from tta.papers.probing.probe import probe_files

    values = {representation: {} for representation in representations}
    for column, options in probes.items():
        config = probe_config(options, representation=list(representations))
        rows = probe_files(config, [model]).rows[1:]  # the first is the majority class
        for representation, row in zip(representations, rows, strict=True):
            values[representation][column] = row.mean
    return values


def probed_by_mix(model, work):
    """The results of models of the tasks over the mix of layers: {column: number}."""
    from tta.papers.probing.probe import probe_files

    values, probes = {}, PROBES | more_probes(work)
    for column in MIXED:
        config = probe_config(probes[column], features=MIX, num_seeds=FLAGS.mix_seeds)
        values[column] = probe_files(config, [model]).rows[1].mean
    return values


def probe_config(options, **settings):
    """The `ProbeConfig` of an entry of PROBES or MORE_PROBES."""
    from tta.papers.probing.config import ProbeConfig

    given = {name: str(v) if isinstance(v, Path) else v for name, v in options.items()}
    return ProbeConfig(**given, **{"num_folds": 5, "num_seeds": 1} | settings)


def more_probes(work):
    """`MORE_PROBES` with samples of the large training parts."""
    probes = dict(MORE_PROBES)
    for name in SAMPLED:
        path = evaluation_data.sample(probes[name]["data_file"], SAMPLE, work / "samples")
        probes[name] = probes[name] | {"data_file": path}
    return probes


def results(work):
    """All that was measured: {(name, representation): {column: [a number per seed]}}."""
    found = {}
    for path in sorted(work.glob("*.json")):
        one = json.loads(path.read_text(encoding="utf-8"))
        for representation, values in one["values"].items():
            columns = found.setdefault((one["name"], representation), {})
            for column, value in values.items():
                columns.setdefault(column, []).append(value)
    return found


def table(found):
    """What `results` returns, as Markdown: the mean over the seeds; then why others are missing."""
    more = [name for name in MORE_PROBES if any(name in values for values in found.values())]
    columns = [*STS, *PROBES, "mean of the four", *more]
    heads = [*columns[: -len(more)], *(f"{name}, first seed" for name in more)] if more else columns
    lines = [f"| | seeds | {' | '.join(heads)} |", "|---|" + "---:|" * (1 + len(columns))]
    for (name, representation), values in found.items():
        means = {column: sum(ones) / len(ones) for column, ones in values.items()}
        if means.keys() >= PROBES.keys():
            means["mean of the four"] = sum(means[column] for column in PROBES) / len(PROBES)
        cells = [f"{means[column]:.2f}" if column in means else "-" for column in columns]
        seeds = max(map(len, values.values()))
        lines.append(f"| {name}, {representation} | {seeds} | {' | '.join(cells)} |")
    lines += [f"| {name} |" + " - |" * (1 + len(columns)) for name in NOT_MEASURED]
    reasons = [f"- {name}: {reason}." for name, reason in NOT_MEASURED.items()]
    return "\n".join([*lines, "", *reasons])


def define_flags():
    """Defines the flags. Others import this file beside flags of the same names."""
    flags.DEFINE_string("work_dir", "runs/semfit", "Folder of models, vectors and results.")
    flags.DEFINE_string("pieces_dir", None, "Data set of word pieces.", required=True)
    flags.DEFINE_string("words_dir", None, "Data set of words.", required=True)
    flags.DEFINE_float("minutes", 30, "Time that each model is trained.", lower_bound=0.01)
    flags.DEFINE_integer("num_train_steps", None, "Steps, instead of --minutes.", lower_bound=1)
    flags.DEFINE_integer("num_seeds", 2, "Seeds of each model.", lower_bound=1)
    flags.DEFINE_enum("precision", "bfloat16", PRECISIONS, "Type of the products.")
    flags.DEFINE_bool("all_probes", False, "Also SST-2, SNLI and WNUT, of the first seed.")
    flags.DEFINE_bool("mix", False, "Also tta probe --features=mix, of the first seed.")
    flags.DEFINE_integer("mix_seeds", 3, "Seeds of the tasks' models with --mix.", lower_bound=1)
    flags.DEFINE_string("json", None, "File of all values and of differences.")
    flags.DEFINE_string("rows", None, "Names of rows, separated by ';'. Default: all.")


if __name__ == "__main__":
    define_flags()
    app.run(main)
