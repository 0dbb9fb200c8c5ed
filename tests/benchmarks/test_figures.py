"""Figures of README and the docs are those that the commands wrote as JSON.

test_paper.py compares whole pages with docs/results.json, and test_readme_commands.py the table of
the quick start with what the command prints.
"""

import json
import re

from benchmarks import ROOT, evaluation
from benchmarks.glue import value_cells
from tests.benchmarks.markdown import table_rows
from tests.fake_model import FakeModel
from tta.data.nbest.formats import FORMATS

RECORD = json.loads((ROOT / "docs/results.json").read_text(encoding="utf-8"))
EVALUATION = json.loads((ROOT / "docs/evaluation.json").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODELS = table_rows("docs/comparison.md", "| for | take |")
GLUE = json.loads((ROOT / "benchmarks/nar/glue.json").read_text(encoding="utf-8"))


def page(name):
    """The text of a page of docs/, each run of white space as one blank."""
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def test_the_evaluation_measures_every_row_on_the_test_file(monkeypatch, tmp_path):
    wrong, right = "the kat sat on", "the cat sat on"
    for part, reference in (("dev", right), ("test", "the cat sat")):
        one = {"input": [wrong, right], "output": reference}
        (tmp_path / f"{part}.json").write_text(json.dumps([one] * 60))
    monkeypatch.setattr("tta.load", FakeModel)
    monkeypatch.setattr("benchmarks.evaluation_data.FOLDER", tmp_path)
    measured = evaluation.measure(("{}.json", None), "test", "dev", {})
    rates = {name: round(value, 2) for name, (value, *_) in measured["rows"].items()}
    expected = {"first pass": 66.67, "no model": 66.67, "LM alone": 33.33}
    assert rates == expected | {"reranked": 33.33, "oracle": 33.33}
    assert measured["rows"]["first pass"][2] is None
    assert measured["rows"]["reranked"][1:] == [50.0, [50.0, 50.0]]
    assert "fake|version:0" in measured["signatures"][2]
    assert set(EVALUATION) == set(evaluation.SETS)


def test_the_first_screen_of_readme():
    seconds = json.loads((ROOT / "docs/light.json").read_text(encoding="utf-8"))[
        "first_score_s_light"
    ]
    size = sum(file.stat().st_size for file in (ROOT / "tta/small").iterdir())
    text = " ".join(README.split())
    expected = [
        f"has {size / 1e6:.1f} MB, and gives its first score {seconds:.1f} s after the start",
        f"{len(FORMATS)} layouts of N-best lists",
    ]
    assert [words for words in expected if words not in text] == []


def test_similarities_of_the_table_of_models():
    (cell,) = [row[2] for row in MODELS if row[0] == "similarity"]
    names = ("T-TA, contrast", "T-TA", "cloze base")
    kinds = ("context",) * 3 + ("joint",) * 3 + ("aligned",) * 3
    measured = RECORD["table3"]["rows"]
    expected = [
        measured[f"{name}, {kind}"]["test"] for name, kind in zip(names * 3, kinds, strict=True)
    ]
    assert re.findall(r"\d+\.\d\d", cell) == [f"{value:.2f}" for value in expected]


def test_differences_of_the_table_of_models():
    (cell,) = [row[2] for row in MODELS if row[0] == "reranking"]
    errors = RECORD["table1"]["differences"]
    for part in ("clean", "snr5"):
        gap = errors[f"Arctic {part}"]["cloze base, exact"]["T-TA, exact"]
        assert with_interval(gap) in cell


def test_the_glue_table_has_the_seeds_of_its_file():
    path = "docs/experiments/classification.md"
    text = (ROOT / path).read_text(encoding="utf-8")
    head = re.search(r"^\| \| (WNLI .*?) \|$", text, re.MULTILINE)[1].split(" | ")
    tasks = [re.sub(r" \(F1\)|-|, .*", "", name).lower() for name in head[:-1]]
    assert set(tasks) == {name.replace("-", "") for name in GLUE}
    shown = value_cells(GLUE)
    for model, *cells in table_rows(path, "| | WNLI "):
        if model.startswith(("`random", "`small", "`base", "`encoder", "`decoder")):
            for task, cell in zip(tasks, cells, strict=False):
                assert cell.replace("*", "") == shown[task, model.strip("`")], (model, task)


def with_interval(differences):
    return "{:.2f} [{:.2f}, {:.2f}]".format(*differences)


def test_claims_about_the_t_ta_have_the_figures_of_the_record():
    claims = page("comparison.md").partition("The paper's claims, here")[2]
    models = ("T-TA, exact", "biLM", "uniLM", "biLM, unmasked")
    clean, noise = (
        [f"{RECORD['table1']['rows'][name][f'Arctic {part}']:.2f}" for name in models]
        for part in ("clean", "snr5")
    )
    errors = RECORD["table1"]["differences"]
    clean_gap, noise_gap = (errors[f"Arctic {part}"]["biLM"] for part in ("clean", "snr5"))
    uni_gaps = [errors[f"Arctic {part}"]["uniLM"] for part in ("clean", "snr5")]
    bleu_gap = RECORD["table2"]["differences"]["IWSLT'14 de-en"]["biLM"]
    gaps = [with_interval(gap["T-TA, exact"]) for gap in (clean_gap, noise_gap, bleu_gap)]
    similarity = [
        with_interval(RECORD[table]["differences"][column]["biLM, context"]["T-TA, context"])
        for table, column in (("table3", "dev"), ("table3", "test"), ("table4", "test"))
    ]
    times = RECORD["runtime"]["rows"]["20 words"]
    t_ta, uni = times["reranking: T-TA, ms"], times["reranking: uniLM, ms"]
    dev = {name: row.get("dev") for name, row in RECORD["table3"]["rows"].items()}
    embeds = [dev[f"{name}, embed"] for name in ("uniLM", "biLM, unmasked")]
    means, medians = (
        [RECORD["table7"]["rows"][name][f"{kind} per token"] for name in ("T-TA, exact", other)]
        for kind, other in (("mean", "uniLM"), ("median", "biLM"))
    )
    rows = RECORD["table7"]["rows"]
    short = [rows[name]["mean per token, at most 5 words"] for name in ("T-TA, exact", "uniLM")]
    gpu = [
        RECORD["runtime_layers"]["rows"][f"{n} words"]["reranking: biLM / T-TA"] for n in (20, 120)
    ]
    expected = [
        f"is {gaps[0]} on Arctic clean and {gaps[1]} at 5 dB; for BLEU, {gaps[2]}",
        f"({clean[0]} and {clean[1]}, {clean[2]}) and at 5 dB ({noise[0]} and {noise[1]}, "
        f"{noise[2]})",
        "the T-TA's is {} and {}, minus".format(
            *(with_interval(gap["T-TA, exact"]) for gap in uni_gaps)
        ),
        f"({clean[3]}, with masks {clean[1]}; at 5 dB {noise[3]}, {noise[1]}; no interval)",
        "{:.1f} and {:.1f} in TensorFlow".format(
            *(times[f"{kind}: biLM / T-TA"] for kind in ("reranking", "similarity"))
        ),
        f"{t_ta:.1f} and {uni:.1f} ms",
        "{:.1f} times at 20 words, {:.1f} at 120".format(*gpu),
        "{} on STS-B dev, {} on its test set and {} on SICK".format(*similarity),
        f"yes ({embeds[0]:.1f}, {dev['uniLM, context']:.1f}; the biLM's `embed` {embeds[1]:.1f})",
        f"no ({means[0]:.0f}, {means[1]:.0f}; {medians[0]:.1f}, {medians[1]:.1f})",
        f"yes ({short[0]:,.0f} for at most 5 words), *above the uniLM's*: no ({short[1]:,.0f})",
    ]
    assert [text for text in expected if text not in claims] == []


def test_rows_that_say_little_have_the_figures_of_the_record():
    text = page("experiments/reranking.md")
    table = RECORD["table1"]
    parts = [f"LibriSpeech {part}" for part in ("clean", "other")]
    cells = {
        part: {name: row[part] for name, row in table["rows"].items() if part in row}
        for part in parts
    }
    first = [cells[part]["first pass"] for part in parts]
    models = [[v for name, v in cells[part].items() if name != "oracle"] for part in parts]
    expected = [
        "from a first pass of {:.2f} and {:.2f}".format(*first),
        f"between {min(models[0]):.2f} and {max(models[0]):.2f} (clean), {min(models[1]):.2f} and "
        f"{max(models[1]):.2f} (other)",
    ]
    assert [words for words in expected if words not in text] == []
    differ = {
        (part, name)
        for part in parts
        for name, others in table["differences"][part].items()
        for low, high in [others.get("no model", [0, 0, 0])[1:]]
        if name != "oracle" and not low <= 0 <= high
    }
    assert not differ


def test_the_reconstructions_are_those_of_the_models_page():
    shown = table_rows("docs/autoencoder.md", "| 1,649 sentences | accuracy % |")
    of_model = table_rows("pretrained/nar-small/README.md", "| | accuracy % |")
    assert shown == [row[:4] for row in of_model]


def test_the_engines_are_compared_by_the_figures_of_the_light_benchmark():
    measured = json.loads((ROOT / "docs/light.json").read_text(encoding="utf-8"))
    engines = table_rows("docs/scoring.md", "| | tensorflow | onnxruntime |")
    table = {name: cells for name, *cells in engines}
    exact = "1,000 sentences of 20 words, exact scores, ms; in bfloat16 or int8"
    keys = {
        "installed with its packages, MB": ["install_mb_{}"],
        "start to the first score, s": ["first_score_s_{}"],
        "resident memory after it, MB": ["rss_mb_{}"],
        exact: ["list_ms_{}_float32_exact_1000", "list_ms_{}_{}_exact_1000"],
    }
    for name, found in keys.items():
        for engine, fast, cell in zip(
            ("tensorflow", "light"), ("bfloat16", "int8"), table[name], strict=True
        ):
            values = [measured[key.format(engine, fast)] for key in found]
            shown = "{:.1f}" if "first" in found[0] else "{:,.0f}"
            assert cell == "; ".join(map(shown.format, values)), name


def test_the_page_of_phrases_has_the_figures_of_its_benchmark():
    measured = json.loads((ROOT / "docs/phrases.json").read_text(encoding="utf-8"))
    found = {
        (one["set"], one["hypotheses"], one["phrases"], one["weights"]): one for one in measured
    }
    table = table_rows("docs/phrases.md", "| phrases | hypotheses ")
    assert len(table) == 6
    for phrases, hypotheses, *cells in table:
        for name, cell in zip(("Arctic clean", "Arctic 5 dB"), cells, strict=True):
            one = found[name, hypotheses, phrases, "tuned"]
            low, high = one["interval"]
            expected = f"{one['with']:.2f} ({one['difference']:+.2f} [{low:+.2f}, {high:+.2f}])"
            assert cell == expected.replace("+0.00", "0.00"), (phrases, hypotheses)


def test_the_record_of_table_7_on_test_clean():
    table = RECORD["table7"]
    record = table_rows("docs/experiments/training.md", "| | paper: mean | paper: median |")
    shown = {name: cells for name, *cells in record}
    assert {"uniLM", "biLM", "T-TA, exact"} < set(shown)
    for name, cells in shown.items():
        theirs = [table["paper"].get(name, {}).get(f"test-clean {k}") for k in ("mean", "median")]
        ours = [table["rows"][name][f"test-clean, {k} per token"] for k in ("mean", "median")]
        assert cells == ["-" if v is None else f"{v:,.2f}" for v in (*theirs, *ours)]
    medians = [float(shown[name][3]) for name in ("T-TA, exact", "biLM")]
    assert medians == sorted(medians)


def test_the_times_of_two_levels():
    record = json.loads((ROOT / "docs/levels.json").read_text(encoding="utf-8"))
    names = ("tuned small", "tuned levels", "guessed levels", "tuned cloze-base")
    times = (f"{1000 * record['Arctic 5 dB']['seconds'][name]:.0f}" for name in names)
    assert "small {} ms, levels {} ({}), cloze-base on all {}".format(*times) in page("levels.md")
