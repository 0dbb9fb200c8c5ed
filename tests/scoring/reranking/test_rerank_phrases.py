"""`tta rerank --phrases_file`: what it picks, writes, reports and refuses."""

import json
import re

import pytest

import tta
from tests.reranking import rerank, rows_of
from tta.data.nbest.files import read_nbest
from tta.errors import InputError
from tta.scoring.reranking.config import RerankConfig

pytestmark = pytest.mark.usefixtures("loaded")


def write(path, *rows, reference=None):
    """Lists of {text: score}."""
    lines = []
    for i, row in enumerate(rows):
        hypotheses = [{"text": text, "score": score} for text, score in row.items()]
        one = {"id": f"u{i}", "hypotheses": hypotheses}
        lines.append(json.dumps(one | ({} if reference is None else {"reference": reference})))
    path.write_text("\n".join(lines) + "\n")
    return path


SURE, UNSURE = {"at ely": -1.0, "at all": -9.0}, {"at elly": -1.0, "at ely": -4.0}


@pytest.fixture
def phrases(tmp_path):
    path = tmp_path / "phrases.txt"
    path.write_text("ely\nkathmandu\nthe\n")
    return path


@pytest.mark.parametrize(
    ("models", "dev"),
    [([], False), (["one"], True), (["one", "two"], False)],
    ids=["no model", "one, tuned", "two"],
)
def test_a_pick_that_phrases_change(tmp_path, phrases, models, dev):
    lists = write(tmp_path / "lists.jsonl", *[SURE] * 20, UNSURE, reference="at ely")
    out, scores, page = (tmp_path / name for name in ("out.jsonl", "scores.jsonl", "page.html"))
    more = {"dev_nbest_file": lists} if dev else {}
    files = {"output_file": out, "scores_file": scores, "report": page, **more}
    report = rerank(lists, models, phrases_file=phrases, **files)
    row = report.test.row("with phrases")
    assert row.value == 0.0
    assert "phrases" in row.weights.features
    plain = rerank(lists, models, **more).test
    assert report.test.row(plain.evaluation.rows[-2].name).value == plain.evaluation.rows[-2].value
    assert (report.dev is None) is not dev
    assert not dev or all(row.name != "with phrases" for row in report.dev.evaluation.rows)
    text = str(report)
    assert "note: common words among the phrases were left out: 1, such as 'the'; " in text
    assert re.search(r"\nphrases_weight:[0-9.]+$", text)
    assert "with phrases" in page.read_text()
    assert 'class="w  phrase"' in page.read_text()
    assert [one.hypotheses[0].text for one in read_nbest(out).lists] == ["at ely"] * 21
    assert rows_of(scores)[0]["features"]["phrases"] == 1.0


def test_texts_are_read_as_normalize_reads_them(tmp_path):
    phrases = tmp_path / "phrases.txt"
    phrases.write_text("ELY!\n")
    lists = write(tmp_path / "lists.jsonl", *[{"At Ely": -1.0, "At all": -9.0}] * 3)
    note = "0 of 1 phrases stand in lists"
    assert note in str(rerank(lists, [], phrases_file=phrases))
    found = str(rerank(lists, [], phrases_file=phrases, normalize="basic"))
    assert "1 of 1 phrases stand in lists, 3 times" in found


NEAR = {"to cathmandu": -1.0, "to cat": -9.0}


def near(tmp_path, phrases, **more):
    rows = [{"to kathmandu": -1.0, "to cat": -9.0}] * 20
    lists = write(tmp_path / "lists.jsonl", *rows, NEAR, reference="to kathmandu")
    files = {name: tmp_path / name for name in ("output_file", "scores_file", "report")}
    given = {"phrases_file": phrases, "phrases_weight": 9.0, "overwrite": True, **files, **more}
    report = rerank(lists, ["one"], **given)
    return report, *(path.read_text() for path in files.values())


def test_a_candidate_is_judged_marked_and_not_written(tmp_path, phrases, loaded):
    report, output, scores, page = near(tmp_path, phrases, phrases_candidates="judged")
    assert report.test.row("with phrases").value == 0.0
    assert report.test.row("reranked").value > 0.0  # which has no candidates
    assert "kathmandu was put in" in page
    last = [row for row in map(json.loads, scores.splitlines()) if row["id"] == "u20"]
    assert [(row["text"], row.get("candidate")) for row in last][:2] == [
        ("to kathmandu", "kathmandu"),
        ("to cathmandu", None),
    ]
    assert {"lm_score", "combined", "posterior"} <= last[0].keys()
    written = [h["text"] for h in json.loads(output.splitlines()[-1])["hypotheses"]]
    assert written == ["to cathmandu", "to cat"]
    assert [lm.name for lm in loaded] == ["one"]
    _, output, *_ = near(tmp_path, phrases, phrases_candidates="written")
    written = [h["text"] for h in json.loads(output.splitlines()[-1])["hypotheses"]]
    assert written[0] == "to kathmandu"
    _, _, scores, _ = near(tmp_path, phrases)
    assert "candidate" not in scores


WRONG = [  # settings, the error
    ({"phrases_weight": 1.0}, "phrases_weight needs phrases_file"),
    ({"phrases_file": "p", "phrases_weight": -1.0}, "phrases_weight must be between 0 and 100"),
    ({"phrases_candidates": "judged"}, "phrases_candidates needs phrases_file"),
    (
        {"phrases_file": "p", "phrases_candidates": "judged", "confidence": "a.ctm"},
        "a CTM needs the times of words, which phrases_candidates have not",
    ),
    (
        {"phrases_file": "p", "features": ["phrases=1"]},
        "features: phrases is that of phrases_file; give it by phrases_weight",
    ),
]


@pytest.mark.parametrize(("settings", "error"), WRONG)
def test_settings_that_do_not_fit(settings, error):
    with pytest.raises(InputError, match=re.escape(error)):
        RerankConfig(nbest_file="x", **settings)


def test_a_wrong_file_is_one_line_before_a_model_is_loaded(tmp_path, loaded):
    lists, path = write(tmp_path / "lists.jsonl", SURE), tmp_path / "phrases.txt"
    path.write_text("ely\tx\n")
    with pytest.raises(InputError, match=re.escape(f"{path}:1: expected a finite number")):
        rerank(lists, phrases_file=path, output_file=tmp_path / "out")
    assert loaded == []
    assert not (tmp_path / "out").exists()


def test_a_feature_of_the_file_with_the_same_name_gives_way(tmp_path, phrases):
    path, references = tmp_path / "lists.moses", tmp_path / "references"
    with open(path, "w") as file:
        for i in range(40):
            for j, (text, score) in enumerate(SURE.items()):
                file.write(f"{i} ||| {text} ||| phrases= {7 - j} ||| {score}\n")
    references.write_text("at ely\n" * 40)
    scores = tmp_path / "scores"
    files = {"reference_file": references, "dev_reference_file": references}
    given = {"dev_nbest_file": path, "phrases_file": phrases, "scores_file": scores, **files}
    report = rerank(path, [], metric="wer", **given)
    assert "phrases" not in report.test.row("no model").weights.features
    assert {row["features"]["phrases"] for row in rows_of(scores)} == {0.0, 1.0}


LISTS, SCORES = [[*SURE]] * 20 + [[*UNSURE]], [[*SURE.values()]] * 20 + [[*UNSURE.values()]]


def test_in_python():
    found = tta.rerank(LISTS, SCORES, "none", phrases=["ely"])
    assert [one.texts[0] for one in found] == ["at ely"] * 21
    assert tta.rerank(LISTS, SCORES, "none")[-1].texts[0] == "at elly"
    again = tta.rerank(LISTS, SCORES, "none", phrases=["ely"], weights=found[0].weights)
    assert again == found
    words = tta.confidence(LISTS, SCORES, "none", phrases=["ely"])
    assert [one.word for one in words[-1]] == ["at", "ely"]
    fixed = tta.rerank(LISTS[-1], SCORES[-1], "none", phrases=["ely"], phrases_weight=50)
    assert fixed.texts[0] == "at ely"
    references = ["at ely"] * 21
    fitted = [
        tta.fit_confidence(LISTS, references, SCORES, "none", **more)
        for more in ({}, {"phrases": ["ely"]})
    ]
    assert fitted[0] != fitted[1]
    assert tta.rerank([], phrases=["ely"]) == []


def test_tuning_does_not_see_phrases():
    given = LISTS, ["at ely"] * 21, SCORES, "none"
    weights = tta.tune(*given, phrases=["ely"])
    assert weights == tta.tune(*given)
    row = {"at home": -1.0, "at kathmandu": -9.0}
    lists, scores = [[*row]] * 20, [[*row.values()]] * 20
    found = tta.rerank(lists, scores, "none", weights=weights, phrases=["kathmandu"])
    assert [one.texts[0] for one in found] == ["at home"] * 20


REFUSED = [  # arguments, the error
    ({"phrases": "ely"}, TypeError, "phrases"),
    ({"phrases": []}, InputError, "phrases: expected phrases, one per line, got none"),
    ({"phrases_weight": 1}, InputError, "phrases_weight needs phrases"),
    ({"phrases": ["ely"], "phrases_weight": -1}, InputError, "between 0 and 100, not -1"),
    ({"phrases": ["ely"], "phrases_weight": "x"}, InputError, "expected a finite number"),
]


@pytest.mark.parametrize(("arguments", "error", "text"), REFUSED)
def test_wrong_arguments(arguments, error, text):
    with pytest.raises(error, match=re.escape(text)):
        tta.rerank(LISTS, SCORES, "none", **arguments)
