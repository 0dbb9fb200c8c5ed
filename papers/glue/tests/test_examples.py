"""The files of GLUE's tasks, in their official layouts, and of a user."""

import pytest

from tta.errors import InputError
from tta.papers.glue.classify_config import TASKS, ClassifyConfig
from tta.papers.glue.examples import read_examples, seen_notes

PAIR, ONE = ("x y", "z"), "x y"

# Task -> header (None: there is none), two rows of training, and what they are: texts, targets.
NLI = "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\t"
NLI += "sentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1"
STS = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore"
LAYOUTS = {
    "cola": (None, ["gj04\t1\t\tx y", "gj04\t0\t*\tx y"], ONE, [1, 0]),
    "sst2": ("sentence\tlabel", ["x y \t1", "x y\t0"], ONE, [1, 0]),
    "mrpc": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", ["1\t7\t8\tx y\tz", "0\t7\t8\tx y\tz"],
             PAIR, [1, 0]),
    "stsb": (STS,
             ["0\tg\tf\t2012\t1\tnone\tnone\tx y\tz\t5.000", "0\tg\tf\t2012\t1\tn\tn\tx y\tz\t3.8"],
             PAIR, [5.0, 3.8]),
    "qqp": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
            ["0\t1\t2\tx y\tz\t0", "0\t1\t2\tx y\tz\t1"], PAIR, [0, 1]),
    "mnli": (f"{NLI}\tgold_label",
             ["0" + "\t-" * 7 + "\tx y\tz\tneutral\tneutral",
              "0" + "\t-" * 7 + "\tx y\tz\t-\tentailment"], PAIR, [2, 1]),
    "qnli": ("index\tquestion\tsentence\tlabel",
             ["0\tx y\tz\tentailment", "1\tx y\tz\tnot_entailment"], PAIR, [0, 1]),
    "rte": ("index\tsentence1\tsentence2\tlabel",
            ["0\tx y\tz\tnot_entailment", "1\tx y\tz\tentailment"], PAIR, [1, 0]),
    "wnli": ("index\tsentence1\tsentence2\tlabel", ["0\tx y\tz\t1", "1\tx y\tz\t0"], PAIR, [1, 0]),
}  # fmt: skip


def write(path, header, rows):
    path.write_text("".join(f"{line}\n" for line in [*[header] * (header is not None), *rows]))
    return str(path)


def read(tmp_path, **changes):
    return read_examples(ClassifyConfig(output_dir="x", **changes))


@pytest.mark.parametrize("task", TASKS)
def test_the_official_layout_of_a_task(task, tmp_path):
    header, rows, texts, targets = LAYOUTS[task]
    write(tmp_path / "train.tsv", header, rows)
    write(tmp_path / TASKS[task].dev_file, header, rows[::-1])
    examples = read(tmp_path, task=task, data_dir=str(tmp_path))
    assert examples.train.texts == [texts] * 2
    assert examples.train.gold.tolist() == pytest.approx(targets)
    assert examples.dev.gold.tolist() == pytest.approx(targets[::-1])
    assert examples.texts_per_example == (1 if texts == ONE else 2)
    assert (examples.labels, examples.metrics) == (TASKS[task].labels, TASKS[task].metrics)
    assert examples.notes == []


@pytest.mark.parametrize("task", TASKS)
def test_the_official_test_file_has_no_labels(task, tmp_path):
    header, rows, texts, _ = LAYOUTS[task]
    write(tmp_path / "train.tsv", header, rows)
    write(tmp_path / TASKS[task].dev_file, header, rows)
    columns = ("sentence1", "sentence2") if task == "stsb" else TASKS[task].text_columns
    cells = [texts] if isinstance(texts, str) else texts
    test = write(tmp_path / "test.tsv", "\t".join(("index", *columns)), ["\t".join(("0", *cells))])
    examples = read(tmp_path, task=task, data_dir=str(tmp_path), test_file=test)
    assert examples.test is not None
    assert (examples.test.texts, examples.test.targets) == ([texts], None)


def test_rows_of_qqp_without_a_question_are_left_out_and_counted(tmp_path):
    header, rows, *_ = LAYOUTS["qqp"]
    write(tmp_path / "train.tsv", header, [*rows, "1\t2\t3\tx", "1\t2\t3\tx\t\t1"])
    write(tmp_path / "dev.tsv", header, rows)
    examples = read(tmp_path, task="qqp", data_dir=str(tmp_path))
    assert len(examples.train.texts) == 2
    (note,) = examples.notes
    assert (
        note == f"{tmp_path}/train.tsv: 2 rows without a text or with other columns were left out"
    )


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (["1\ta", "x\ta"], "a.tsv:2: expected a number as label, got 'x'"),
        (["1\ta", "nan\ta"], "a.tsv:2: expected a number as label, got 'nan'"),
        (["1\ta", "1.0\tb"], "a.tsv: expected two labels or more, all examples have 1"),
    ],
)
def test_labels_that_are_no_numbers(rows, rule, tmp_path):
    path = write(tmp_path / "a.tsv", None, rows)
    with pytest.raises(InputError) as error:
        read(tmp_path, train_file=path, dev_file=path, regression=True)
    assert rule in str(error.value)


def test_a_label_of_line_1_alone_is_pointed_out_and_labels_are_counted(tmp_path):
    rows = ["good\tx", "bad\ty", "good\t", "bad\tx", 'so "so"\tx']
    dev = write(tmp_path / "dev.tsv", None, rows[:4])
    train = write(tmp_path / "train.tsv", "Klasse\tTexte", rows)
    examples = read(tmp_path, train_file=train, dev_file=dev)
    assert examples.notes == [
        f"{train}: 1 with an empty text (first: line 4)",
        f"{train}: the label 'Klasse' occurs on line 1 only; if that line is a header, "
        "--label_column and --text_columns name its columns",
        f"{dev}: 1 with an empty text (first: line 3)",
    ]
    counts = "'Klasse' 1, 'bad' 2, 'good' 2, 'so \"so\"' 1"
    assert examples.label_counts == f"{train}: 4 labels: {counts}"
    named = read(
        tmp_path,
        train_file=train,
        dev_file=write(tmp_path / "dev.tsv", "Klasse\tTexte", rows),
        label_column="Klasse",
        text_columns=["Texte"],
    )
    assert named.labels == ("bad", "good", 'so "so"')
    assert len(named.train.texts) == len(named.dev.texts) == 5
    assert not any("line 1" in note for note in named.notes)


def test_a_part_of_several_files(tmp_path):
    """Files without a header, and one with; the labels are those of all of them."""
    first = write(tmp_path / "a.tsv", None, ["1\tx", "2\ty", "2\tz"])
    second = write(tmp_path / "b.tsv", "label\tsentence", ["3\tu"])
    (tmp_path / "dev").mkdir()
    write(tmp_path / "dev/c.jsonl", None, ['{"sentence": "v", "label": "3"}'])
    dev = write(tmp_path / "dev/d.tsv", None, ["1\tw"])
    found = read(tmp_path, train_file=f"{first},{second}", dev_file=str(tmp_path / "dev"))
    assert (found.train.texts, found.labels) == (["x", "y", "z", "u"], ("1", "2", "3"))
    assert (found.train.gold.tolist(), found.dev.texts) == ([0.0, 1.0, 1.0, 2.0], ["v", "w"])
    assert found.train.path == f"{first},{second}"
    write(tmp_path / "dev/d.tsv", None, ["7\tw"])
    with pytest.raises(InputError, match=f"{dev}:1: unknown label '7'"):
        read(tmp_path, train_file=f"{first},{second}", dev_file=str(tmp_path / "dev"))


@pytest.mark.parametrize("pairs", [False, True])
def test_a_part_that_was_trained_on_is_pointed_out(tmp_path, pairs):
    texts = [f"text {i}\tand {i}" if pairs else f"text {i}" for i in range(40)]
    header = "sentence1\tsentence2\tlabel" if pairs else "sentence\tlabel"
    parts = {"train": texts[:20], "dev": texts[15:30], "test": texts[19:40]}
    for name, rows in parts.items():
        labelled = [f"{row}\t{'ab'[i % 2]}" for i, row in enumerate(rows)]
        (tmp_path / name).write_text("\n".join([header, *labelled, ""]))
    files = {f"{name}_file": str(tmp_path / name) for name in parts}
    examples = read_examples(ClassifyConfig(output_dir="out", **files))
    assert list(seen_notes(examples)) == [
        f"{tmp_path / 'dev'}: 33% of the texts are also in {tmp_path / 'train'}"
    ]
    same = read_examples(
        ClassifyConfig(output_dir="out", **files | {"dev_file": files["train_file"]})
    )
    first, *_ = seen_notes(same)
    assert first.startswith(f"{tmp_path / 'train'}: 100% of the texts are also in")


@pytest.mark.parametrize(
    ("task", "labels", "measured"),
    [
        ("qqp", ("-1", "-1"), False),
        ("qqp", ("1", "0"), True),
        ("qqp", ("0", "0"), False),
        ("stsb", ("-1.000", "-1.000"), False),
        ("stsb", ("2.5", "2.5"), False),
        ("stsb", ("2.5", "0"), True),
    ],
)
def test_a_test_part_without_labels_or_of_equal_ones_is_not_measured(
    tmp_path, task, labels, measured
):
    header, rows, *_ = LAYOUTS[task]
    for name in ("train.tsv", TASKS[task].dev_file):
        write(tmp_path / name, header, rows)
    named = TASKS[task]
    columns = "\t".join(("index", *named.text_columns, named.label_column))
    lines = [f"{i}\tx y\tz\t{label}" for i, label in enumerate(labels)]
    test = write(tmp_path / "test.tsv", columns, lines)
    found = read(tmp_path, task=task, data_dir=str(tmp_path), test_file=test)
    assert found.test is not None
    assert (found.test.targets is not None) == measured
    is_constant = not measured and not (task != "stsb" and labels[0] == "-1")
    rule = f"{test}: all labels are the same; predicted, not measured"
    assert (rule in found.notes) == is_constant


def test_rows_of_a_test_part_keep_their_numbers(tmp_path):
    header, rows, *_ = LAYOUTS["qqp"]
    for name in ("train.tsv", "dev.tsv"):
        write(tmp_path / name, header, [*rows[:1], "1\t2\t3\tx\t\t1", *rows[1:]])
    head = "id\tquestion1\tquestion2"
    write(tmp_path / "a.tsv", head, ["0\tx\t", "1\tx", "2\tx\ty"])
    write(tmp_path / "b.tsv", head, ["3\t\t"])
    test = f"{tmp_path}/a.tsv,{tmp_path}/b.tsv"
    found = read(tmp_path, task="qqp", data_dir=str(tmp_path), test_file=test)
    assert found.test is not None
    assert found.test.texts == [("x", ""), ("x", "y"), ("", "")]
    assert (found.test.numbers, found.dev.numbers) == ([0, 2, 3], [0, 2])
