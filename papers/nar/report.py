"""The report of tta reconstruct as text: result and controls, accuracy by length, the latent."""

from dataclasses import dataclass

from tta.papers.nar.measures import Hits
from tta.scoring.reports.table import NotedReport, align, format_count, format_number

RECONSTRUCTION, ANOTHER, ZERO = "reconstruction", "z of another text", "z = 0"
FREQUENT, NO_LENGTH = "most frequent piece", "length not given"

# Numbers of pieces, the first and the last of each row of the table by length.
LENGTHS = ((1, 8), (9, 16), (17, 32), (33, 64), (65, 128), (129, 1 << 30))


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: of the latent vectors, or of the control.
        hits: which pieces are right.
        bleu: corpus BLEU, 0 to 100.
        nll: -log p of a piece, natural log; None where there is no probability.
    """

    name: str
    hits: Hits
    bleu: float
    nll: float | None

    def cells(self) -> list[str]:
        """The cells of the row."""
        numbers = self.hits.accuracy(), self.hits.exact_match(), self.bleu
        nll = "" if self.nll is None else format_number(self.nll, ".4f")
        return [self.name, *(format_number(number, ".2f") for number in numbers), nll]


@dataclass(frozen=True)
class LatentReport:
    """What the latent vectors hold.

    Attributes:
        size: P.
        active_units: numbers that vary over the texts.
        kl: KL of a text from the prior, nats; None without a variational model.
        mutual_information: of text and latent vector, nats; None as above.
    """

    size: int
    active_units: int
    kl: float | None
    mutual_information: float | None

    def __str__(self):
        active = f"latent vector: {self.active_units} of {self.size} units active"
        if self.kl is None or self.mutual_information is None:
            return active
        return (
            f"{active}, KL {self.kl:.3f} nats per text, mutual information "
            f"{self.mutual_information:.3f} nats"
        )


@dataclass(frozen=True)
class ReconstructReport(NotedReport):
    """How well texts were reconstructed.

    Attributes:
        path: of the texts.
        rows: the reconstruction first.
        latent: of the latent vectors.
    """

    path: str
    rows: list[Row]
    latent: LatentReport

    def row(self, name: str) -> Row:
        """The row with that name."""
        return next(row for row in self.rows if row.name == name)

    def lines(self):
        pieces = self.rows[0].hits.pieces
        heads = ["", "accuracy %", "exact %", "BLEU", "nll"]
        return [
            f"{self.path}: {format_count(len(pieces), 'text', 'texts')}, {pieces.sum():,} pieces",
            align([heads, *(row.cells() for row in self.rows)]),
            "",
            "accuracy % by the number of pieces:",
            align(self._by_length()),
            "",
            str(self.latent),
        ]

    def _by_length(self):
        cells = [["pieces", "texts", *(row.name for row in self.rows)]]
        pieces = self.rows[0].hits.pieces
        for first, last in LENGTHS:
            chosen = (pieces >= first) & (pieces <= last)
            if chosen.any():
                values = (format_number(row.hits.accuracy(chosen), ".2f") for row in self.rows)
                name = f"{first} to {min(last, pieces.max())}"
                cells.append([name, f"{chosen.sum():,}", *values])
        return cells
