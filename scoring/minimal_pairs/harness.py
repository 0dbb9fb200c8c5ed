"""Models of this package in EleutherAI's lm-evaluation-harness (`pip install '.[lm-eval]'`).

    python -m tta.scoring.minimal_pairs.harness run --model=tta \\
        --model_args=pretrained=small --tasks=blimp

The harness looks for no models in other packages. So this module registers the model `tta` when it
is imported, and as a command it then runs the harness's own command line.
"""

import sys
from collections import Counter
from typing import Any

import tta
from tta.errors import InputError, install

try:
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model
except ModuleNotFoundError:
    rule = f"this needs lm_eval: {install('lm-eval')}"
    raise (SystemExit(f"error: {rule}") if __name__ == "__main__" else InputError(rule)) from None

# What the harness passes to every model, and ours have no use for.
_IGNORED = ("batch_size", "max_batch_size", "device")


@register_model("tta")
class HarnessModel(LM):
    """Gives the harness the scores of a model: `Scorer.score` of the text, after its context.

    So tasks work that compare the log-likelihoods of texts, such as BLiMP. No model here generates
    text. Words of a context and a continuation have a blank between them.

    Args:
        pretrained: a model, as for `tta.load`.
        **options: those of `tta.load`, such as `normalizer` or `pll_variant`.
    """

    def __init__(self, pretrained: str = "small", **options: Any):
        super().__init__()
        options = {name: value for name, value in options.items() if name not in _IGNORED}
        self._lm = tta.load(pretrained, **options)

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> Any:
        """[(score, False)] of requests with (context, continuation): greedy search is unknown."""
        choices = Counter((request.task_name, request.doc_id) for request in requests)
        if 1 in choices.values():
            note = "whether greedy search finds a text is not computed; metrics of it are 0"
            print(f"note: {note}", file=sys.stderr)
        contexts, texts = ([request.args[i] for request in requests] for i in (0, 1))
        return [(score, False) for score in self._scores(texts, contexts, disable_tqdm)]

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> Any:
        """The score of the text of each request."""
        return self._scores([request.args[0] for request in requests], [], disable_tqdm)

    def generate_until(self, requests: list[Any]) -> Any:
        """Raises InputError: no model here generates text."""
        raise InputError("it generates no text: choose tasks that compare texts", self._lm.name)

    def _scores(self, texts: list[str], contexts: list[str], quiet: bool) -> list[float]:
        prefixes = [context.strip() for context in contexts]
        return self._lm.score(
            [text.strip() for text in texts],
            progress=not quiet,
            prefixes=prefixes if any(prefixes) else None,
        ).tolist()


def main() -> None:
    """Runs the harness's command line; a wrong model or file is one line and exit status 1."""
    from lm_eval.__main__ import cli_evaluate

    try:
        cli_evaluate()
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
