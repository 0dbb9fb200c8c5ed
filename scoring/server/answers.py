"""Answers the routes of the service: a method for each. Its docstring describes the route."""

from collections.abc import Callable, Sequence
from typing import Any

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from tta.scoring.server import forms
from tta.scoring.server.batching import Batcher, BusyError
from tta.scoring.server.config import ServerConfig
from tta.scoring.server.meters import Meters
from tta.scoring.server.models import ServedModels
from tta.scoring.server.service import (
    ListsToRerank,
    Service,
    check_dimensions,
    check_texts,
    compared_size,
    distinct_hypotheses,
    embeddings,
    texts_of,
)

LONG = 8192  # bytes, the size of an item that takes longer than a slice


class Lanes:
    """Three threads of work. What cannot be cut into slices holds up its own kind only.

    Attributes:
        short: texts and lists that fit into a slice.
        long_texts, long_lists: long texts, and the comparisons of long lists.
    """

    def __init__(self, config: ServerConfig, meters: Meters):
        self._config = config
        self.short, self.long_texts, self.long_lists = (
            Batcher(config.batch_texts, meters.batches.observe) for _ in range(3)
        )

    @property
    def num_waiting(self) -> int:
        """The number of items without a result."""
        lanes = self.short, self.long_texts, self.long_lists
        return sum(lane.num_waiting for lane in lanes)

    async def of_texts(self, function: Callable[[list[Any]], Any], texts: list[str]) -> list[Any]:
        """As `of_items`, where each item is a text."""
        return await self.of_items(function, texts, [(text,) for text in texts])

    async def of_items(
        self,
        function: Callable[[list[Any]], Any],
        items: Sequence[Any],
        texts_of_items: Sequence[Sequence[str]],
    ) -> list[Any]:
        """The function's result of each item. Requests are joined if their function is the same.

        Raises InputError for too many or too long texts, and BusyError if too many items wait.
        """
        texts = [text for texts in texts_of_items for text in texts]
        check_texts(texts, self._config.max_texts, self._config.max_characters)
        waiting = self.num_waiting
        if waiting and waiting + len(items) > self._config.max_waiting_texts:
            raise BusyError
        sizes = [
            sum(len(text.encode(errors="replace")) + 8 for text in texts)  # and its ends
            for texts in texts_of_items
        ]
        lane = self.short if max(sizes) <= LONG else self.long_texts
        return await lane.run(function, items, sizes)

    async def of_lists(self, function: Callable[[list[Any]], Any], lists: ListsToRerank) -> Any:
        """The function's result of the lists of one request."""
        size = compared_size(lists.lists)
        lane = self.short if size <= LONG else self.long_lists
        [result] = await lane.run(function, [lists], [size])
        return result


class Answers:
    """The answers of a service.

    Args:
        models: for texts and for lists.
        config: the limits.
        meters: the numbers that `/metrics` shows.
        lanes: where the work is done.

    Raises:
        InputError: a model has no scores, or not the representation of the config.
    """

    def __init__(self, models: ServedModels, config: ServerConfig, meters: Meters, lanes: Lanes):
        self._config, self._meters, self._lanes = config, meters, lanes
        self._name, self._list_name = models.texts.name, models.lists.name
        # Digests of all weights take time, so they are computed once.
        self._signature, self._list_signature = models.texts.signature, models.lists.signature
        service = Service(models, config.representation)
        self._comparison_signature = models.texts.comparison_signature(config.representation)
        # Requests are joined if their function is the same object.
        self._score, self._score_tokens = service.score, service.score_tokens
        self._encode, self._compare = service.encode, service.compare
        self._rerank, self._are_short = service.rerank, service.are_short
        self._score_short_lists = service.score_short_lists
        is_same = models.hypotheses is models.texts
        self._score_hypotheses = self._score_tokens if is_same else service.score_hypotheses

    async def score(self, request: forms.TextsRequest) -> Response:
        """Scores texts: the log-probability of each, a sum over its tokens."""
        rows = await self._lanes.of_texts(self._score, request.texts)
        scores, num_tokens, num_unknown = zip(*rows, strict=True)
        return JSONResponse(
            {
                "scores": scores,
                "num_tokens": num_tokens,
                "num_unknown": num_unknown,
                "signature": self._signature,
            }
        )

    async def score_tokens(self, request: forms.TextsRequest) -> Response:
        """The log-probability of each token."""
        results = await self._lanes.of_texts(self._score_tokens, request.texts)
        rows = [scores.to_dict() for scores in results]
        return JSONResponse({"results": rows, "signature": self._signature})

    async def rerank(self, request: forms.ListRequest) -> Response:
        """Reranks an N-best list, or several."""
        lists = request.all_lists()
        hypotheses = [text for nbest in lists for text in nbest.hypotheses]
        check_texts(hypotheses, self._config.max_texts, self._config.max_characters)
        texts = distinct_hypotheses(lists, request.keep_non_words)
        score = self._score_short_lists if self._are_short(lists) else self._score_hypotheses
        scored = await self._lanes.of_texts(score, texts)
        token_scores = dict(zip(texts, scored, strict=True))
        answer = await self._lanes.of_lists(self._rerank, ListsToRerank.of(request, token_scores))
        if request.lists is None:
            [only] = answer.pop("lists")
            answer |= only
        return JSONResponse(answer | {"signature": self._list_signature})

    async def embeddings(self, request: forms.EmbeddingsRequest) -> Response:
        """The vectors of texts, of length 1, in OpenAI's form."""
        self._check_name(request.model)
        rows = await self._lanes.of_texts(self._encode, texts_of(request.input))
        check_dimensions(request.dimensions, rows[0][0])
        count = sum(num_tokens for _, num_tokens in rows)
        vectors = [vector for vector, _ in rows]
        return JSONResponse(
            {
                "object": "list",
                "data": embeddings(vectors, request.encoding_format),
                "model": self._name,
                "usage": {"prompt_tokens": count, "total_tokens": count},
            }
        )

    async def similarity(self, request: forms.PairsRequest) -> Response:
        """Compares pairs of texts: the cosine of their vectors, or of their words, -1 to 1."""
        pairs = [(first, second) for first, second in request.pairs]
        similarities = await self._lanes.of_items(self._compare, pairs, pairs)
        return JSONResponse({"similarities": similarities, "signature": self._comparison_signature})

    async def models(self) -> dict[str, Any]:
        """The model of this service, in OpenAI's form."""
        return {"object": "list", "data": [self._model()]}

    async def model(self, name: str) -> dict[str, Any]:
        """The model of a name, in OpenAI's form."""
        self._check_name(name)
        return self._model()

    async def health(self) -> dict[str, Any]:
        """Whether the service answers, and the model's name and signature."""
        return {"status": "ok", "model": self._list_name, "signature": self._list_signature}

    async def metrics(self) -> Response:
        """Numbers and times of requests, in the format of Prometheus."""
        return Response(self._meters.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    def _model(self) -> dict[str, Any]:
        return {"id": self._name, "object": "model", "created": 0, "owned_by": "tta-lm"}

    def _check_name(self, name: str | None) -> None:
        if name not in (None, self._name):
            raise HTTPException(404, f"the model of this service is {self._name}")
