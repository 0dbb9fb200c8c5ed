"""Reconstructs the texts of a file from their latent vectors, with controls; see `reconstruct`."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import tta
from tta.data.nbest.text_layouts import input_notes
from tta.data.text.files import shown_path
from tta.data.text.lines import TextReader, expand_globs
from tta.data.text.tables import open_rows
from tta.errors import InputError
from tta.papers.nar.autoencoder_model import AutoencoderModel
from tta.papers.nar.measures import (
    Hits,
    active_units,
    divergences,
    hits,
    most_frequent,
    mutual_information,
)
from tta.papers.nar.reconstruct_config import ReconstructConfig
from tta.papers.nar.report import (
    ANOTHER,
    FREQUENT,
    NO_LENGTH,
    RECONSTRUCTION,
    ZERO,
    LatentReport,
    ReconstructReport,
    Row,
)
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.scorers.arguments import SentenceError

TOKENIZE = "none"  # of BLEU: a text is already split into words


def reconstruct(config: ReconstructConfig, model: str | None = None) -> ReconstructReport:
    """Measures how well an autoencoder writes texts down again from their latent vectors.

    The latent vector of a VAE is its mean. The decoder gets the length of each text, except in the
    row "length not given". `model` is as in `tta.load`. Raises InputError if the file is missing,
    empty or malformed, a text is too long, the model is no autoencoder or makes only one pass, or
    the output file exists.
    """
    texts, places, notes = _read(config)
    lm = tta.load(model, engine=config.engine)
    if not isinstance(lm, AutoencoderModel):
        raise InputError("tta reconstruct needs an autoencoder (docs/autoencoder.md)", lm.name)
    lm.check_passes(config.num_passes)
    # First: an existing file is an error before the work.
    with open_rows(config.output_file, config.overwrite) as write:
        rows, lines = _encode(lm, texts, places, config)
        report = _measure(lm, rows, lines, config, write)
    report.notes.extend(notes)
    return report


def _encode(lm, texts, places, config) -> tuple[list[np.ndarray], list[int]]:
    """The ids of the texts that have pieces, and the numbers of their lines."""
    try:
        rows = lm.rows_of(texts)
    except SentenceError as error:
        raise InputError(f"the text {error.sentence_rule}", *places[error.index]) from None
    with_pieces = [(row, line) for row, (_, line) in zip(rows, places, strict=True) if len(row) > 2]
    if not with_pieces:
        raise InputError("the file has no text", shown_path(config.input_file))
    rows, lines = map(list, zip(*with_pieces, strict=True))
    return rows, lines


def _measure(lm, rows, lines, config, write) -> ReconstructReport:
    posterior = lm.posterior(rows)
    reconstructions = _reconstructions(lm, rows, posterior.mean, config)
    # Without a length, the end token ends a text, unless the model predicts the length.
    stops = () if lm.config.predicts_length else (NO_LENGTH,)
    vocabulary = lm.tokenizer.vocabulary
    eos_id, unk_id = vocabulary.eos_id, vocabulary.unk_id
    measured = {
        name: hits(rows, ids, eos_id if name in stops else None, unk_id)
        for name, ids in reconstructions.items()
    }
    vectors = _vectors(posterior.mean, config.seed)
    nll = {name: _nll(lm, rows, latent) for name, latent in vectors.items()}
    if write is not None:
        _write(
            write,
            lm,
            rows,
            reconstructions[RECONSTRUCTION],
            measured=measured[RECONSTRUCTION],
            lines=lines,
        )
    return ReconstructReport(
        str(shown_path(config.input_file)),
        [
            Row(name, counts, _bleu(lm, rows, reconstructions[name], name in stops), nll.get(name))
            for name, counts in measured.items()
        ],
        _latent(posterior, config.seed),
        notes=_notes(lm, rows, reconstructions, config),
        signatures=[lm.signature, _signature(config)],
    )


def _signature(config) -> str:
    """What the numbers depend on besides the model, in one line."""
    return (
        f"reconstruct|passes:{config.num_passes}|max_texts:{config.max_texts or 'all'}"
        f"|seed:{config.seed}|{Bleu(TOKENIZE).signature}|version:{tta.__version__}"
    )


def _read(config) -> tuple[list[str], list[tuple[Path | str, int]], list[str]]:
    """The texts that are not blank, the file and line of each, and notes on the files."""
    paths = expand_globs([config.input_file])
    reader = TextReader(paths, verbatim=True, column=config.column, has_columns=True)
    located_texts = (
        (text.strip(), reader.place(number))
        for number, text in enumerate(reader, 1)
        if text.strip()
    )
    located_texts = list(itertools.islice(located_texts, config.max_texts))
    if not located_texts:
        raise InputError("the file has no text", shown_path(config.input_file))
    texts, places = map(list, zip(*located_texts, strict=True))
    return texts, places, input_notes(reader)


def _vectors(mean, seed) -> dict[str, np.ndarray]:
    """The latent vectors of the reconstruction and of the controls: {name of the row: [N, K P]}."""
    vectors = {RECONSTRUCTION: mean}
    if len(mean) > 1:  # each text gets the vector of the next one in a random order
        order = np.random.default_rng(seed).permutation(len(mean))
        another = np.empty_like(mean)
        another[order] = mean[np.roll(order, 1)]
        vectors[ANOTHER] = another
    return vectors | {ZERO: np.zeros_like(mean)}


def _reconstructions(lm, rows, mean, config) -> dict[str, list[np.ndarray]]:
    """{name of the row: N arrays of ids}."""
    vectors, passes = _vectors(mean, config.seed), config.num_passes
    ids = {name: lm.rewrite(rows, latent, passes) for name, latent in vectors.items()}
    ids[FREQUENT] = most_frequent(rows)
    if not lm.reads_words:
        ids[NO_LENGTH] = lm.rewrite(lm.blank_rows(mean), mean, passes)
    return ids


def _nll(lm, rows, vectors) -> float:
    """-log p of a piece given the latent vector, the mean over all pieces; natural log."""
    scores = lm.log_probabilities(rows, vectors)
    total = sum(float(of_row[1:-1].sum(dtype=np.float64)) for of_row in scores)
    return -total / sum(len(row) - 2 for row in rows)


def _bleu(lm, rows, reconstructed, stop) -> float:
    """Corpus BLEU of the words, from 0 to 100."""
    bleu = Bleu(TOKENIZE)
    texts = (
        (lm.text_of(ids, stop), lm.text_of(row))
        for row, ids in zip(rows, reconstructed, strict=True)
    )
    totals = sum(bleu.statistics([written], text)[0] for written, text in texts)
    return float(bleu.corpus(np.asarray(totals)))


def _latent(posterior, seed) -> LatentReport:
    mean, log_variance = posterior
    kl = information = None
    if log_variance is not None:
        kl = float(divergences(mean, log_variance).mean())
        information = mutual_information(mean, log_variance, seed)
    return LatentReport(mean.shape[1], active_units(mean), kl, information)


def _notes(lm, rows, reconstructions, config) -> list[str]:
    notes = []
    if config.num_passes > 1:
        notes.append("nll is that of the first pass")
    if lm.config.predicts_length:
        pairs = zip(rows, reconstructions[NO_LENGTH], strict=True)
        right = np.mean([len(row) == len(other) for row, other in pairs])
        notes.append(f"the predicted length is right for {100 * right:.2f} % of the texts")
    if lm.reads_words and lm.config.decoder_type == "bilm":
        notes.append(
            "the decoder reads the words that it predicts (decoder_input ground_truth): it copies "
            "them, whatever the latent vector"
        )
    elif lm.reads_words:
        notes.append("the decoder reads all words of the text except the one that it predicts")
    unknown = sum(int((row == lm.tokenizer.vocabulary.unk_id).sum()) for row in rows)
    if unknown:
        notes.append(f"words unknown to the vocabulary, which count as wrong: {unknown:,}")
    if len(rows) == 1:
        notes.append("a single text: there is no vector of another one")
    return notes


def _write(write, lm, rows, reconstructed, measured: Hits, lines: Sequence[int]):
    for index, (row, other) in enumerate(zip(rows, reconstructed, strict=True)):
        accuracy = measured.right[index] / measured.pieces[index]
        values = {"line": lines[index], "text": lm.text_of(row)}
        values |= {"reconstruction": lm.text_of(other), "accuracy": round(float(accuracy), 4)}
        write(values)
