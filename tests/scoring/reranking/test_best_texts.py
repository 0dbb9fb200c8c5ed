"""`--best_file`: the layout follows the name; rows keep what the input has."""

import gzip
import json

import pytest

from tests.reranking import rerank
from tta.errors import InputError

# By the feature, the second text of u1 and the first of u2 are best; the first pass says otherwise.
WEIGHTS = {"features": ["lm_score=9"], "decision": "max", "length_bonus": 0.0}
LISTS = [
    ("u1", ["the kat", -1.0, -9.0], ["the  cat", -2.0, -1.0]),
    ("u2", ["", -5.0, -1.0], ["a dog", -1.0, -9.0]),
]
LINES = [
    ("best.txt", "the cat\n\n", "text alone; an empty pick is an empty line"),
    ("hyp.de", "the cat\n\n", "any other name"),
    ("text", "u1 the cat\nu2\n", "Kaldi's"),
    ("best.text", "u1 the cat\nu2\n", "Kaldi's, with a name before"),
    ("best.trn", "the cat (u1)\n(u2)\n", "sclite's"),
    ("best.txt.gz", "the cat\n\n", "compressed"),
    ("text.gz", "u1 the cat\nu2\n", "the ending before that of the archive"),
]


@pytest.fixture
def lists(tmp_path):
    """A csv file with a column of its own, and the same as JSON lines."""
    rows = ["ID,text,score,lm_score,speaker"]
    objects = []
    for name, *hypotheses in LISTS:
        rows += [f"{name},{t},{s},{lm},s-{name}" for t, s, lm in hypotheses]
        named = [dict(zip(("text", "score", "lm_score"), h, strict=True)) for h in hypotheses]
        objects.append({"id": name, "time": 1617181723.5432, "hypotheses": named})
    (tmp_path / "lists.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "lists.jsonl").write_text("".join(json.dumps(one) + "\n" for one in objects))
    return tmp_path


def written(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


@pytest.mark.parametrize(("name", "expected", "why"), LINES)
def test_lines(lists, name, expected, why):
    rerank(lists / "lists.csv", (), best_file=lists / name, **WEIGHTS)
    assert written(lists / name) == expected, why


@pytest.mark.parametrize(
    ("ids", "name", "expected"),
    [
        ("201", "best.txt", "b\nc\na\n"),  # fairseq sorts sentences by length
        ("201", "best.text", "2 a\n0 b\n1 c\n"),
        ("312", "best.txt", "a\nb\nc\n"),  # no line has this number
        ("102", "-", "b\na\nc\n"),
    ],
)
def test_lines_alone_have_the_order_of_plain_references(tmp_path, capsys, ids, name, expected):
    rows = [f"{i} ||| {text} ||| x= 1 ||| -1" for i, text in zip(ids, "abc", strict=True)]
    (tmp_path / "in").write_text("\n".join([*rows, ""]))
    path = name if name == "-" else tmp_path / name
    rerank(tmp_path / "in", (), best_file=path, **{**WEIGHTS, "features": []})
    assert (capsys.readouterr().out if name == "-" else written(path)) == expected


@pytest.mark.parametrize(("ending", "cut"), [("csv", ","), ("tsv", "\t")])
def test_a_table_keeps_the_columns_of_the_input(lists, ending, cut):
    rerank(lists / "lists.csv", (), best_file=lists / f"best.{ending}", **WEIGHTS)
    rows = [line.split(cut) for line in written(lists / f"best.{ending}").splitlines()]
    assert rows == [
        ["ID", "text", "score", "lm_score", "speaker", "best"],
        ["u1", "the kat", "-1.0", "-9.0", "s-u1", "the cat"],
        ["u2", "a dog", "-1.0", "-9.0", "s-u2", ""],
    ]


def test_json_lines_keep_the_record_with_all_digits(lists):
    rerank(lists / "lists.jsonl", (), best_file=lists / "best.jsonl", **WEIGHTS)
    given = [json.loads(line) for line in written(lists / "lists.jsonl").splitlines()]
    found = [json.loads(line) for line in written(lists / "best.jsonl").splitlines()]
    assert found == [
        {**one, "best": best} for one, best in zip(given, ["the cat", ""], strict=True)
    ]


def test_columns_of_a_table_are_texts_and_numbers_and_a_name_that_is_taken_is_kept(tmp_path):
    rows = [
        {"id": "u1", "best": "old", "hypotheses": ["a", "b"]},
        {"id": "u2", "day": 2, "hypotheses": ["c"]},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rerank(tmp_path / "in.jsonl", (), best_file=tmp_path / "out.tsv", **{**WEIGHTS, "features": []})
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert [line.split("\t") for line in lines] == [
        ["id", "best", "day", "best_"],
        ["u1", "old", "", "a"],
        ["u2", "", "2", "c"],
    ]


def test_lists_of_other_formats_have_id_text_and_reference(tmp_path):
    one = {"u1": {"hyp_1": {"score": -1, "text": "a"}, "hyp_2": {"score": -2, "text": "b"}}}
    one["u1"]["ref"] = "b"
    (tmp_path / "in.json").write_text(json.dumps(one))
    rerank(tmp_path / "in.json", (), best_file=tmp_path / "best.csv", **{**WEIGHTS, "features": []})
    assert written(tmp_path / "best.csv") == "id,text,reference,best\nu1,a,b,a\n"


@pytest.mark.parametrize(
    ("name", "given", "rule"),
    [
        ("text", "a b", "the id 'a b' cannot stand in lines of `id words`"),
        ("best.trn", "a(b)", r"the id 'a\(b\)' cannot stand in lines of `words \(id\)`"),
    ],
)
def test_ids_that_lines_cannot_hold_are_refused_before_the_scoring(tmp_path, name, given, rule):
    row = {"id": given, "hypotheses": ["x", "y"]}
    (tmp_path / "in.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=rule):
        rerank(tmp_path / "in.jsonl", ("no such model",), best_file=tmp_path / name)
    assert not (tmp_path / name).exists()
