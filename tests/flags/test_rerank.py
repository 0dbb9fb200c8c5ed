"""run_rerank.py as a user sees it: files in, table and files out, one line if it fails."""

import json
import os
import re
import sys
import weakref
from importlib.machinery import ModuleSpec
from itertools import combinations
from types import ModuleType

import numpy as np
import pytest

import tta
from tests.commands import run_with_fake_model, with_fake_model
from tests.fake_model import FakeModel
from tests.reranking import rerank
from tta.data.nbest.files import read_nbest
from tta.errors import InputError, install
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files
from tta.scoring.scorers.options import RerankOptions

# The fake model knows every word of the references, but not the wrong words of hypotheses.
LISTS = {
    "u1": {
        "hyp_1": {"score": -1.0, "text": "the kat sat"},
        "hyp_2": {"score": -1.0625, "text": "the cat sat"},
        "hyp_3": {"score": -1.5, "text": "the cat zat"},
        "ref": "the cat sat",
    },
    "u2": {
        "hyp_1": {"score": -2.0, "text": "a dog ran home"},
        "hyp_2": {"score": -2.5, "text": "a dock ran home"},
        "hyp_3": {"score": -3.0, "text": ""},
        "ref": "a dog ran home",
    },
}
GUESSED = "note: guessed, as there is no dev_nbest_file: "


# Enough lists to tell a gain from chance.
DEV_LISTS = {f"{name}-{i}": one for i in range(5) for name, one in LISTS.items()}

DEV = {"dev_nbest_file": "lists.json"}

# Weights with which the fake model's favourite wins, and the written score is the combined one.
BY_SCORE = {"lm_weight": [0.5], "length_bonus": 0.0, "reduction": "sum", "decision": "max"}


SENTENCE = ["the", "cat", "sat", "on", "the", "mat", "a", "dog", "ran", "home"]


def write_random_lists(path, seed, count=7, features=("am_score", "lm_score")):
    """Writes lists as JSON lines. Scores and features prefer correct words, more or less."""
    random = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        words = SENTENCE[: random.integers(3, len(SENTENCE))]
        hypotheses = []
        for _ in range(random.integers(3, 8)):
            wrong = random.random(len(words)) < 0.3
            told = [f"{word}x" if bad else word for word, bad in zip(words, wrong, strict=True)]
            told = told[: len(told) - int(random.integers(2))]
            scores = -random.random(1 + len(features)) * 4 - wrong.sum()
            hypothesis = {"text": " ".join(told), "score": scores[0]}
            hypotheses.append(hypothesis | dict(zip(features, scores[1:], strict=True)))
        rows.append({"id": f"u{i}", "hypotheses": hypotheses, "reference": " ".join(words)})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def without(lists, *keys):
    """The lists without references (`ref`) or scores (`score`)."""
    return {
        name: {
            k: {a: b for a, b in v.items() if a not in keys} if isinstance(v, dict) else v
            for k, v in one.items()
            if k not in keys
        }
        for name, one in lists.items()
    }


@pytest.fixture
def nbest(tmp_path):
    path = tmp_path / "lists.json"
    path.write_text(json.dumps(LISTS))
    return path


@pytest.fixture
def dev(tmp_path):
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(DEV_LISTS))
    return path


def command(*flags, **options):
    """Runs the command in a process of its own."""
    return with_fake_model("run_rerank.py", *flags, **options)


def run(*flags, **options):
    """Runs the command in this process."""
    return run_with_fake_model("tta-rerank", *flags, **options)


def table(report, title):
    """The rows of a table in a report: {name: [cells]}. The headings have the name ""."""
    lines = report[report.index(title) :].splitlines()[1:7]
    return {line[:10].strip(): line[10:].split() for line in lines}


def flags_of(report, name="reranked"):
    """The flags that give the weights that a report prints for its last system, `name`."""
    row = next(line for line in report.splitlines() if line.startswith(name))
    lm_weight, length_bonus, reduction, scale = row.split()[-4:]
    flags = [f"--lm_weight={lm_weight}", f"--length_bonus={length_bonus}"]
    flags += [f"--reduction={reduction}"]
    flags += ["--decision=max" if scale == "max" else f"--scale={scale}"]
    *_, signature = report.splitlines()
    parts = dict(part.partition(":")[::2] for part in signature.split("|"))
    return [*flags, f"--features={parts['features']}"] if "features" in parts else flags


def test_tunes_on_dev_and_prints_five_rows(nbest, dev):
    done = command(f"--nbest_file={nbest}", f"--dev_nbest_file={dev}")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "loaded\n"  # neither progress bar nor log without a terminal
    assert f"{dev}: 10 lists, 30 hypotheses, 6 distinct\n" in done.stdout
    rows = table(done.stdout, f"{nbest}: 2 lists, 6 hypotheses, 6 distinct\n")
    assert rows[""][:7] == ["WER", "sub", "ins", "del", "CER", "gain", "%"]
    assert list(rows) == ["", "first pass", "no model", "LM alone", "reranked", "oracle"]
    assert rows[""][-4:] == ["lm_weight", "length_bonus", "reduction", "scale"]
    # 1 of 7 words, 1 of 25 characters
    assert rows["first pass"] == ["14.29", "14.29", "0.00", "0.00", "4.00"]
    assert rows["reranked"][:6] == [*["0.00"] * 5, "+100.0"]
    assert rows["oracle"] == [*["0.00"] * 5, "+100.0"]
    *_, bootstrap, metric, signature, decision = done.stdout.splitlines()
    assert bootstrap == "bootstrap|paired:lists|interval:95% percentile|resamples:10000|seed:0"
    assert metric == "WER|words:whitespace|CER:blanks count|normalize:none"
    assert signature.startswith("fake|version:0|reduction:")
    assert decision.startswith("decision:")


@pytest.mark.parametrize(
    ("models", "decision", "tuned"),
    [
        (["--model="], "max", True),
        (["--model="], "mbr", True),
        (["--model=", "--model=length"], "mbr", True),
        (["--model=none"], "mbr", True),
        (["--model="], "mbr", False),
    ],
    ids=["max", "mbr", "two-models", "no-model", "guessed"],
)
def test_printed_weights_give_the_same_output(tmp_path, models, decision, tuned):
    """To the last digit: the command uses the numbers that it prints."""
    test, dev = tmp_path / "test.jsonl", tmp_path / "dev.jsonl"
    write_random_lists(test, seed=0)
    write_random_lists(dev, seed=1, count=41)
    first = [f"--nbest_file={test}", *models]
    flags = [f"--decision={decision}", *([f"--dev_nbest_file={dev}"] if tuned else [])]

    def written_by(name, flags):
        outputs = [f"--output_file={tmp_path / name}", f"--scores_file={tmp_path / name}.scores"]
        done = run(*first, *flags, *outputs)
        assert done.returncode == 0, done.stderr
        written = [(tmp_path / f"{name}{suffix}").read_bytes() for suffix in ("", ".scores")]
        return done.stdout[done.stdout.index(f"{test}: ") :], written

    title = {1: "reranked", 2: "together"}[len(models)] if "none" not in models[0] else "no model"
    report, written = written_by("one", flags)
    given = flags_of(report, title)
    if models == ["--model=none"]:
        given = [flag for flag in given if not flag.startswith("--lm_weight")]
    assert any(flag.startswith("--features=") for flag in given)
    again, rewritten = written_by("two", given)
    assert "not tuned" not in again
    if "left out of" in report:  # a guessed bonus, of a few lists
        written, rewritten = ([set(one.splitlines()) for one in w] for w in (written, rewritten))
        assert all(len(one - other) < 10 for one, other in zip(written, rewritten, strict=True))
    else:
        assert rewritten == written
    assert flags_of(again, title) == flags_of(report, title)


def test_every_distinct_text_is_scored_once(nbest, dev, model):
    more = {**LISTS["u2"], "hyp_4": {"score": -9.0, "text": "home"}}
    dev.write_text(json.dumps({"d1": LISTS["u1"], "d2": more}))
    rerank(nbest, dev_nbest_file=dev)
    assert len(model.scored) == len(set(model.scored)) == 7


def test_options_reach_the_model(nbest, loaded):
    options = RerankOptions(score_boundary_tokens=True)
    rerank_files(RerankConfig(nbest_file=str(nbest)), ["some/model"], options)
    assert [(lm.name, lm.options) for lm in loaded] == [("some/model", options.by_name)]


def test_without_dev_lists_weights_are_guessed_with_a_note(nbest, model):
    report = str(rerank(nbest))
    assert table(report, str(nbest))["reranked"][0] == "0.00"
    assert f"{GUESSED}lm_weight, length_bonus, scale" in report
    assert "hypotheses without a token to score, such as empty ones: 1;" in report
    report = str(rerank(nbest, lm_weight=[0.5], reduction="mean"))
    assert f"{GUESSED}length_bonus, scale" in report
    assert f"{GUESSED}length_bonus" in str(rerank(nbest, lm_weight=[0.5], decision="max"))


def test_the_order_counts_for_lists_without_scores(nbest, model):
    nbest.write_text(json.dumps(without(LISTS, "score")))
    report = str(rerank(nbest))
    assert "note: no first-pass scores: -ln(rank in the list) is used" in report
    assert "by the language model and" not in report


def test_lists_without_references_are_reranked_but_not_measured(nbest, tmp_path, model):
    nbest.write_text(json.dumps(without(LISTS, "ref")))
    report = rerank(nbest, **BY_SCORE, output_file=tmp_path / "o")
    assert report.dev is report.test.evaluation is report.metric is None
    assert "note: no references: nothing measured" in str(report)
    assert "WER" not in str(report)
    assert read_nbest(tmp_path / "o").lists[0].hypotheses[0].text == "the cat sat"


def test_with_norank_scores_the_model_and_the_texts_rerank_with_a_note(nbest, tmp_path, model):
    nbest.write_text(json.dumps(without(LISTS, "score")))
    report = str(rerank(nbest, rank_scores=False, output_file=tmp_path / "out.json"))
    note = "no first-pass scores: reranked by the language model and the texts of a list"
    assert note in report
    rows = table(report, str(nbest))
    assert rows["first pass"][0] == "14.29"  # the lists' own order
    assert read_nbest(tmp_path / "out.json").lists[0].hypotheses[0].score is not None


def test_lists_that_get_worse_are_pointed_out(nbest, model):
    assert "is worse" not in str(rerank(nbest, lm_weight=[0.5]))
    nbest.write_text(json.dumps({"u1": {**LISTS["u1"], "ref": "the kat sat"}}))
    report = str(rerank(nbest, lm_weight=[0.5]))
    found = "note: reranked is worse than the first pass: WER 33.33, first pass 0.00"
    assert f"{found}; the difference may be chance\n" in report


def test_a_model_that_is_better_alone_on_dev_lists_is_pointed_out(nbest, dev, model):
    note = "LM alone is better on the dev lists: WER 0.00, reranked "
    assert note not in str(rerank(nbest, dev_nbest_file=dev))
    lists = json.loads(dev.read_text())
    for nbest_list in lists.values():  # the first pass prefers a wrong text by far
        nbest_list["hyp_2"]["score"] = 1e6
    dev.write_text(json.dumps(lists))
    assert note in str(rerank(nbest, dev_nbest_file=dev))
    # No list misled a weight that was not tuned.
    assert note not in str(rerank(nbest, dev_nbest_file=dev, lm_weight=[0.1]))


def test_equal_first_pass_scores_leave_the_choice_to_the_language_model(nbest, tmp_path, model):
    flat = json.loads(re.sub(r'"score": [-.0-9]+', '"score": -7.1', json.dumps(LISTS)))
    nbest.write_text(json.dumps(flat))
    report = str(rerank(nbest, output_file=tmp_path / "out.json"))
    assert "note: the first-pass scores of a list are all equal" in report
    rows = table(report, str(nbest))
    assert rows["reranked"][0] == "0.00"
    assert json.loads((tmp_path / "out.json").read_text())["u1"]["hyp_1"]["text"] == "the cat sat"


def test_one_empty_list_is_reported_and_stays_empty(nbest, dev, tmp_path, model):
    lists = {"u0": {"ref": "a b c"}, **LISTS}
    nbest.write_text(json.dumps(lists))
    dev.write_text(json.dumps({"u0": {"ref": "a b c"}, **DEV_LISTS}))
    out, scores, page = (tmp_path / name for name in ("out.json", "scores", "page.html"))
    report = str(
        rerank(nbest, dev_nbest_file=dev, output_file=out, scores_file=scores, report=page)
    )
    for path in (dev, nbest):
        note = f"note: lists without hypotheses in {path}: 1, first 'u0'; they stay empty"
        assert report.count(note) == 1
    rows = table(report, str(nbest))
    assert rows["first pass"][0] == "40.00"  # 1 substitution and 3 deletions in 10 words
    assert rows["reranked"][0] == "30.00"
    reranked = json.loads((tmp_path / "out.json").read_text())
    assert reranked["u0"] == {"ref": "a b c"}
    assert reranked["u1"]["hyp_1"]["text"] == "the cat sat"
    rows = [json.loads(line) for line in (tmp_path / "scores").read_text().splitlines()]
    assert {row["id"] for row in rows} == {"u1", "u2"}


def test_kaldi_costs_have_their_own_file(tmp_path, model):
    (tmp_path / "text").write_text("u-1-1 the kat sat\nu-1-2 the cat sat\nu-1-3\n")
    (tmp_path / "cost").write_text("u-1-1 1.0\nu-1-2 1.25\nu-1-3 9\n")
    files = {"nbest_file": tmp_path / "text", "score_file": tmp_path / "cost"}
    files |= {"output_file": tmp_path / "out"} | BY_SCORE
    rerank(**files)
    assert (tmp_path / "out").read_text().splitlines()[0] == "u-1-1 the cat sat"
    assert (tmp_path / "out.scores").read_text().splitlines()[0] == "u-1-1 2.125"
    with pytest.raises(InputError, match=r"out\.scores: two outputs have the same name"):
        rerank(**files, scores_file=tmp_path / "out.scores")


def test_dev_and_test_have_the_same_score_files(tmp_path, model):
    for part in ("dev", "test"):
        (tmp_path / f"{part}.text").write_text("u-1 the kat sat\nu-2 the cat sat\n")
        (tmp_path / f"{part}.ac").write_text("u-1 1\nu-2 3\n")
        (tmp_path / f"{part}.lm").write_text("u-1 10\nu-2 7\n")
    (tmp_path / "ref").write_text("u the cat sat\n")

    def rerank_with(*dev_parts, **values):
        return rerank(
            tmp_path / "test.text",
            score_file=[str(tmp_path / f"test.{part}") for part in ("ac", "lm")],
            dev_nbest_file=tmp_path / "dev.text",
            dev_reference_file=tmp_path / "ref",
            dev_score_file=[str(tmp_path / f"dev.{part}") for part in dev_parts],
            **values,
        )

    rule = "dev lists is one score file, that of the test lists score_ac [+] score_lm: give"
    with pytest.raises(InputError, match=rule):
        rerank_with("ac")
    assert rerank_with("ac", "lm").signatures == rerank_with("lm", "ac").signatures
    with pytest.raises(InputError, match=r"feature 'score_1'; these all have: .*score_ac"):
        rerank_with("ac", "lm", features=["score_1"])


def test_standard_input_to_standard_output():
    flags = "--nbest_file=-", "--output_file=-", "--format=dict"
    done = run(*flags, stdin=json.dumps(LISTS).encode())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["u1"]["hyp_1"]["text"] == "the cat sat"
    assert "<stdin>: 2 lists" in done.stderr
    assert "reranked" in done.stderr


@pytest.mark.parametrize(
    ("content", "values", "message"),
    [
        (None, {}, "lists.json: no such file"),
        (without(LISTS, "ref"), {"dev_nbest_file": "lists.json"},
         "tuning needs references, and the lists have none"),
        ({"u1": {**LISTS["u1"], "ref": ""}}, {}, "lists.json: the references have no words"),
        (LISTS, {"output_file": "lists.json"}, "lists.json: exists; pass overwrite=True"),
        (LISTS, {"scores_file": "missing/scores"}, "missing/scores: no such folder"),
        (LISTS, {"scores_file": "lists.json"}, "lists.json: exists; pass overwrite=True"),
        (LISTS, {"output_file": "a", "scores_file": "./a"}, "a: two outputs have the same name"),
        (without(LISTS, "score"), {"curve_file": "c.tsv", "rank_scores": False, **DEV},
         "a curve needs first-pass scores, and the lists have none"),
        (LISTS, {"curve_file": "c.tsv", "models": (), **DEV}, "curve_file needs a model: it shows"),
        (LISTS, {"features": ["am_score"], **DEV}, "not every hypothesis has a feature 'am_score'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_the_model_is_loaded(
    tmp_path, monkeypatch, no_model, content, values, message
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lists.json"
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match=re.escape(message)) as error:
        rerank("lists.json", **values)
    assert "\n" not in str(error.value)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize("which", ["dev", "test"])
def test_dev_and_test_lists_must_both_have_scores_or_not(nbest, dev, model, ranked, which):
    {"dev": dev, "test": nbest}[which].write_text(json.dumps(without(LISTS, "score")))
    rule = "to rerank must have first-pass scores, or neither"
    with pytest.raises(InputError, match=rule):
        rerank(nbest, dev_nbest_file=dev, rank_scores=ranked)


def test_a_score_that_is_not_finite_leaves_no_output(nbest, tmp_path):
    nbest.write_text(json.dumps({"u1": {**LISTS["u1"], "hyp_1": {"score": -1.0, "text": "nan"}}}))
    outputs = [f"--{name}={tmp_path / name}" for name in ("output_file", "scores_file", "report")]
    outputs += [f"--dev_nbest_file={nbest}", f"--curve_file={tmp_path}/c.tsv"]
    done = run(f"--nbest_file={nbest}", *outputs)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "error: list 'u1': the language model's score of 'nan' must be a finite number, not nan"
    )
    assert list(tmp_path.iterdir()) == [nbest]


def test_several_models_are_tuned_together_and_each_is_reported(nbest, dev, tmp_path):
    done = run(
        f"--nbest_file={nbest}", f"--dev_nbest_file={dev}", "--model=", "--model=length",
        f"--scores_file={tmp_path}/scores",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == "loaded\n" * 2
    lines = done.stdout.splitlines()
    values = {line[:16].strip(): float(line[16:].split()[0]) for line in lines[2:10]}
    alone = ["fake alone", "length alone", "fake reranked", "length reranked"]
    assert [*values] == ["first pass", "no model", *alone, "together", "oracle"]
    assert values["together"] <= min(v for name, v in values.items() if name != "oracle")
    pairs = combinations(["fake reranked", "length reranked", "together", "no model"], 2)
    assert [line.partition(":")[0] for line in lines[10:16]] == [" - ".join(p) for p in pairs]
    assert lines[-3].startswith("fake|version:0|reduction:")
    assert lines[-2].startswith("length|version:0|reduction:")
    assert lines[-1].startswith("decision:")

    rows = [json.loads(line) for line in (tmp_path / "scores").read_text().splitlines()]
    assert set(rows[0]["models"]) == {"fake", "length"}
    assert rows[0]["models"]["length"]["num_tokens"] == 3
    assert "num_tokens" not in rows[0]


@pytest.mark.usefixtures("loaded")
def test_several_models_without_dev_lists_get_equal_shares_with_a_note(nbest):
    report = str(rerank(nbest, [None, "length", "length"]))
    assert "note: the models have equal weights" in report
    assert "length (2) alone" in report


def test_a_model_is_released_before_the_next_is_loaded(nbest, dev, tmp_path, monkeypatch):
    loaded, alive = [], weakref.WeakSet()

    def load(path, **options):
        assert not alive, f"{list(alive)} still alive when {path} is loaded"
        model = FakeModel(path)
        model.cycle = model  # a reference cycle, as a compiled function has
        loaded.append(path)
        alive.add(model)
        return model

    monkeypatch.setattr(tta, "load", load)
    rerank(nbest, ["length", "b", "c"], dev_nbest_file=dev, report=tmp_path / "r.html")
    assert loaded == ["c", "b", "length"]  # the first one last, because the page is coloured by it
    assert "natural log, length" in (tmp_path / "r.html").read_text()


def test_curve_and_report_are_written_with_everything_else(nbest, dev, tmp_path):
    flags = [
        f"--nbest_file={nbest}", f"--dev_nbest_file={dev}", f"--curve_file={tmp_path}/c.tsv",
        f"--report={tmp_path}/r.html",
    ]  # fmt: skip
    done = run(*flags)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "loaded\n"
    assert (tmp_path / "c.tsv").read_text().startswith("model\tlm_weight\tWER\nreranked\t0\t")
    page = (tmp_path / "r.html").read_text()
    for part in ("<svg", "kat</span>", "1 of 2: 1 better", "95% interval"):
        assert part in page


@pytest.mark.parametrize(
    ("missing", "values", "message"),
    [
        ("jinja2", {"report": "r.html"}, f"--report needs jinja2: {install('report')}"),
        ("matplotlib", {"report": "r.html"}, "--report needs matplotlib: pip install"),
        ("matplotlib", {"curve_file": "c.svg"}, "--curve_file=c.svg needs matplotlib: pip install"),
    ],
)
def test_a_missing_package_is_an_error_before_the_model_is_loaded(
    nbest, monkeypatch, tmp_path, no_model, missing, values, message
):
    monkeypatch.chdir(tmp_path)
    for name in ("jinja2", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None if name == missing else ModuleType(name))
        if name != missing:
            sys.modules[name].__spec__ = ModuleSpec(name, None)
    with pytest.raises(InputError, match=re.escape(message)):
        rerank("lists.json", dev_nbest_file="lists.json", **values)
    assert list(tmp_path.iterdir()) == [nbest]


def test_a_curve_as_text_needs_no_package(nbest, tmp_path, monkeypatch, model):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path = tmp_path / "c.tsv"
    rerank(nbest, dev_nbest_file=nbest, curve_file=path)
    assert path.exists()


def test_a_pair_of_files_is_never_half_new(tmp_path, monkeypatch, model):
    """The costs may be of either run, so there is no list before both files are written."""
    (tmp_path / "nbest").write_text("u-1 the cat\nu-2 xyz\n")
    (tmp_path / "costs").write_text("u-1 9\nu-2 1\n")
    out, lists_there, replace = tmp_path / "out", [], os.replace
    out.write_text("former list")
    (tmp_path / "out.scores").write_text("former costs")

    def watched(*names):
        lists_there.append(out.exists())
        replace(*names)

    monkeypatch.setattr(os, "replace", watched)
    files = {"score_file": tmp_path / "costs", "output_file": out, "overwrite": True}
    rerank(tmp_path / "nbest", **files)
    assert lists_there == [False, False]
    assert (out.exists(), (tmp_path / "out.scores").read_text() != "former costs") == (True, True)
