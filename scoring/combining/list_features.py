"""Features of the whole list: what the texts of a list say about each of its hypotheses.

They need no model. A hypothesis that resembles many others is probable, even without a common word;
and first pass and model prefer short texts, which a weight per character corrects.
"""

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

# The features, and the size of a difference in each that is neither small nor large.
FEATURE_UNITS = {"characters": 5.0, "distance": 4.0, "weighted_distance": 4.0}

# Factor on the first-pass scores before their softmax weights the distances.
_SHARPNESS = 0.3


def list_features(texts: Sequence[str], first_pass: np.ndarray) -> dict[str, np.ndarray]:
    """The features of the n hypotheses of a list: {name of `FEATURE_UNITS`: [n] float64}.

    With d(i, j), the number of character edits between the texts i and j:

    - characters: the number of characters.
    - distance: -(1/n) sum_j d(i, j), minus the mean distance to the hypotheses of the list.
    - weighted_distance: -sum_j p_j d(i, j), where p = softmax(0.3 * first_pass).

    Args:
        texts: n normalized texts. Blanks between words count; other white space does not.
        first_pass: [n] float64, natural log.
    """
    texts = [" ".join(text.split()) for text in texts]
    exponentials = np.exp(_SHARPNESS * (first_pass - first_pass.max(initial=-np.inf)))
    share = np.stack([np.full(len(texts), 1 / max(len(texts), 1)), exponentials], axis=1)
    share /= np.maximum(share.sum(axis=0), 1e-30)
    edits = cdist(texts, texts, scorer=Levenshtein.distance, dtype=np.int32) @ share
    characters = np.array([len(text) for text in texts], np.float64)
    return dict(zip(FEATURE_UNITS, (characters, *-edits.T), strict=True))
