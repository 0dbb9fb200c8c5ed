"""Adapts a model to a domain: trains it on the user's own text, on N-best lists, or on both.

A part of the text and of the lists is held out. Training stops when the held-out part does not
improve, and the weights of the best pass are kept.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import tta
from tta.atomic import check_new_folder
from tta.data.corpus.output import WORK_FOLDER, work_folder
from tta.errors import InputError
from tta.names import CONFIG, LIGHT, README, STANDARDIZATION, VOCABULARY, WEIGHTS
from tta.scoring.adaptation.config import AdaptationConfig
from tta.scoring.adaptation.lists import (
    HELDOUT_LISTS,
    ListReport,
    check_takes_one_pass,
    fine_tune,
    read_split,
)
from tta.scoring.adaptation.text import TextReport, adapt_to_text
from tta.scoring.scorers.variants import DecoderModel

# What a run writes, in this order: the weights complete a model.
_FILES = (HELDOUT_LISTS, VOCABULARY, CONFIG, README, STANDARDIZATION, LIGHT, WEIGHTS)


@dataclass(frozen=True)
class AdaptationReport:
    """How a model was adapted; `str` gives the closing lines of tta adapt.

    Attributes:
        text: the report about the text; None without text.
        lists: the report about the N-best lists; None without lists.
    """

    text: TextReport | None
    lists: ListReport | None

    def __str__(self) -> str:
        return "\n".join(str(part) for part in (self.text, self.lists) if part is not None)


def adapt(config: AdaptationConfig, model: str | None = None) -> AdaptationReport | None:
    """Continues the training of a model, and writes the result as a model directory.

    On text, the objective is that of the model's type: lae for a T-TA, mlm for a biLM and BERT, clm
    for a uniLM. On N-best lists, it is the expected number of word errors (`fine_tune`). With both,
    the text comes first. `pooling.npz`, which belongs to the weights, is not copied. Training on
    text sets TensorFlow's and Keras's random seeds to `config.seed`.

    Args:
        config: the text or the lists, the folder to write, and how to train.
        model: a model directory or the name of a model, as in `tta.load`; also decoder:MODEL.

    Returns:
        The report; None if SIGTERM stopped the training. Nothing is written then.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped the training.
        InputError: the text or the lists are missing, malformed or too short, the folder is not
            empty, the model cannot be trained, or no pass improved the held-out part.
        OSError: the disk is full.
    """
    output_dir = Path(config.output_dir)
    check_output_dir(output_dir)
    split = None if config.nbest_file is None else read_split(config)
    lm = tta.load(model, normalizer="auto", engine="tensorflow")
    _check_trainable(lm)
    if split is not None:
        check_takes_one_pass(lm)
    with work_folder(output_dir) as work:
        directory = work / "model"
        directory.mkdir()
        lm.tokenizer.vocabulary.save(directory / VOCABULARY)
        text = lists = None
        if config.input_file is not None:
            start = str(getattr(lm, "directory", None) or model)
            text = adapt_to_text(config, lm, start, work, directory)
            if text is None:
                return None
        if split is not None:
            start = (
                lm if text is None else tta.load(directory, normalizer="auto", engine="tensorflow")
            )
            lists = fine_tune(config, start, split, work, directory)
            if lists is None:
                return None
        card = "\n".join(part.card for part in (text, lists) if part is not None)
        intro = f"The model `{lm.name}`, adapted with tta adapt of tta-lm."
        (directory / README).write_text(
            f"# {output_dir.name}\n\n{intro}\n\n{card}", encoding="utf-8"
        )
        for name in _FILES:
            if (directory / name).exists():
                os.replace(directory / name, output_dir / name)
    return AdaptationReport(text, lists)


def check_output_dir(output_dir: Path) -> None:
    """Raises InputError unless a folder is new or empty, or has leftovers of a killed run alone."""
    # A run that was killed while it moved its files has the work folder still.
    was_killed = (output_dir / WORK_FOLDER).exists()
    check_new_folder(output_dir, (WORK_FOLDER, *_FILES) if was_killed else ())


def _check_trainable(lm):
    """Raises InputError if a model cannot be trained."""
    directory = getattr(lm, "directory", None)
    if directory is None and not isinstance(lm, DecoderModel):
        raise InputError("only a model directory can be adapted", lm.name)
    if lm.tokenizer is None:
        raise InputError(f"no {VOCABULARY}, which adapting needs", directory)
    if not lm.gives_scores:
        raise InputError("models of this type give no scores, so they cannot be adapted", directory)
