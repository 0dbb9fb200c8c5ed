"""tta models: what it lists, in which folder, and which folder goes first."""

import sys

import pytest

from tests.tiny import of_family, write_model_directory
from tta.flags.models import ModelsConfig, main
from tta.modeling.formats import trained_models
from tta.modeling.formats.trained_models import find_directory

pytestmark = pytest.mark.tensorflow


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """A folder of models in each place, in the order in which they are searched."""
    site = tmp_path / "site"
    places = [tmp_path / "own", tmp_path / "more", tmp_path / "checkout"]
    places += [tmp_path / "pretrained", site / trained_models.MODELS_PACKAGE]
    for number, place in enumerate(places):
        for name in ("everywhere", f"only-{number}"):
            write_model_directory(place / name, of_family("bilm" if number else "tta"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trained_models, "PRETRAINED", places[2])
    monkeypatch.setenv("TTA_MODELS", f"{places[0]}::{places[1]}:{tmp_path / 'nowhere'}")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    return places


def test_names_of_every_folder_and_the_first_of_equal_ones(folders):
    for number, place in enumerate(folders):
        found = find_directory(f"only-{number}")
        assert str(place / f"only-{number}").endswith(str(found))
    assert find_directory("everywhere") == folders[0] / "everywhere"


def test_every_name_is_listed_with_type_size_folder_and_purpose(folders, capsys):
    own = folders[0] / "everywhere"
    card = "---\nlicense: mit\n---\n\n# Mine\n\nFor my\nmail. Trained at home.\n"
    (own / "README.md").write_text(card)
    (folders[1] / "only-1/config.json").write_text("{")
    main(ModelsConfig())
    lines = capsys.readouterr().out.splitlines()
    names = [line.partition(":")[0] for line in lines[:-1:2]]
    assert names == ["small", "everywhere", *(f"only-{number}" for number in range(5))]
    size = sum(path.stat().st_size for path in own.iterdir()) / 1e6
    at = lines.index(f"everywhere: tta, {size:.1f} MB, {own}")
    assert lines[at + 1] == "    For my mail."
    assert "    For reranking and scores of English; the built-in model." in lines
    (damaged,) = (line for line in lines if line.startswith("only-1: damaged (not JSON"))
    assert str(folders[1] / "only-1") in damaged
    assert lines[-1] == trained_models.WAYS
