"""The bodies of requests, and of answers; FastAPI reads and describes them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from tta.errors import shown
from tta.scoring.combining.weights import RerankWeights

Number = Annotated[float, Field(allow_inf_nan=False)]
Texts = Annotated[list[str], Field(min_length=1)]

_NO_SEARCH = (
    "this route orders the hypotheses of a recogniser or translator; it ranks no documents by a "
    "query: compare pairs of them with /v1/similarity"
)


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _is_object(cls, body: Any) -> Any:
        if isinstance(body, (dict, BaseModel)):
            return body
        got = "null" if body is None else shown(body)
        rule = f"expected an object with {', '.join(cls.model_fields)}, got {got}"
        raise PydanticCustomError("object", "{rule}", {"rule": rule})


class TextsRequest(_Body):
    """Texts to score."""

    texts: Texts


class Scores(_Body):
    """One number per text. Scores are natural logs, higher is better."""

    scores: list[float]
    num_tokens: list[int]
    num_unknown: list[int] = Field(description="words that the vocabulary cannot spell")
    signature: str = Field(description="what the scores depend on")


class TokenScoresOfText(_Body):
    """The tokens of a text and their log-probabilities, natural logs."""

    tokens: list[str]
    log_probabilities: list[float]


class TokenScoresAnswer(_Body):
    """The tokens of each text."""

    results: list[TokenScoresOfText]
    signature: str


class Weights(_Body):
    """The weights of the combined score (docs/reranking.md); scale null: the highest score wins."""

    lm_weight: Number
    length_bonus: Number = 0.0
    reduction: str = Field("sum", description="sum or mean: the model's score of its tokens'")
    shares: list[Number] = Field([1.0], description="of each model in lm_weight; one model: [1]")
    scale: Number | None = None
    decision: str | None = Field(
        None, description="max with scale null, else mbr; it may be left out"
    )
    features: dict[str, Number] = {}
    bonus_is_guessed: bool = Field(
        False, description="the bonus then promotes nothing that both scores find worse"
    )

    first_level: "Weights | None" = Field(None, description="those of the first of two models")
    tuned_on: dict[str, dict[str, dict[str, Number]]] | None = Field(
        None, description="from `tta.tune`: lists with other kinds of scores are refused or noted"
    )

    def to_weights(self) -> RerankWeights:
        """The weights. Raises InputError if one is out of its range."""
        return RerankWeights.from_dict(self.model_dump())


class OneList(_Body):
    """An N-best list."""

    hypotheses: Texts = Field(description="best first, if there are no scores")
    scores: list[Number] | None = Field(
        None, description="first-pass scores: natural logs, higher is better"
    )
    features: dict[str, list[Number]] = Field(
        {}, description="further first-pass scores by name, for weights that name them"
    )

    @model_validator(mode="after")
    def _has_one_for_each(self) -> "OneList":
        for name, values in (("scores", self.scores), *self.features.items()):
            if values is not None and self.hypotheses and len(values) != len(self.hypotheses):
                counts = f"{name} has length {len(values)}, hypotheses {len(self.hypotheses)}"
                raise PydanticCustomError("lengths", "{rule}", {"rule": counts})
        return self


class ListRequest(OneList):
    """An N-best list, or several in `lists`."""

    hypotheses: Texts | None = Field(
        None, description=OneList.model_fields["hypotheses"].description
    )
    lists: Annotated[list[OneList], Field(min_length=1)] | None = Field(
        None, description="several lists, whose answer is `lists`; guessed weights fit them all"
    )
    weights: Weights | None = Field(None, description="null: guessed from the scores")
    metric: Literal["wer", "cer"] = Field(
        "wer", description="what an expected loss counts: errors in words, or in characters"
    )
    rank_scores: bool = Field(
        True, description="without scores: whether the order counts, best first"
    )
    keep_non_words: bool = Field(False, description="whether <eps>, [noise] and others are words")
    phrases: Texts | None = Field(
        None, description="known names and terms: phrase, or phrase<tab>factor (docs/phrases.md)"
    )
    phrases_weight: Number | None = Field(
        None, ge=0, le=100, description="of a word of them, in standard deviations; null: guessed"
    )

    @model_validator(mode="before")
    @classmethod
    def _is_no_search(cls, body: Any) -> Any:
        """Services that search have a route of this name, too."""
        if isinstance(body, dict) and {"query", "documents"} & body.keys():
            raise PydanticCustomError("search", "{rule}", {"rule": _NO_SEARCH})
        return body

    @model_validator(mode="after")
    def _is_one(self) -> "ListRequest":
        alone = self.hypotheses, self.scores, self.features or None
        if self.hypotheses is None if self.lists is None else any(x is not None for x in alone):
            rule = "hypotheses: Field required, or lists in place of all three"
            raise PydanticCustomError("one", "{rule}", {"rule": rule})
        return self

    def all_lists(self) -> list[OneList]:
        """The lists, or the one."""
        if self.lists is not None:
            return self.lists
        return [OneList.model_construct(**{n: getattr(self, n) for n in OneList.model_fields})]


class RankedHypothesis(_Body):
    """A hypothesis and what its place comes from."""

    text: str
    index: int = Field(description="its position in the request, from 0")
    score: float = Field(description="the combined score, natural log")
    lm_score: float = Field(description="the model's score, natural log")
    posterior: float | None = Field(description="probability, 0 to 1; null with scale null")
    expected_loss: float | None = Field(description="in errors of the metric; null with scale null")
    rescored: bool | None = Field(description="by the second model; null: there is one model")
    features: dict[str, float] = Field(description="the features that have a weight")
    terms: dict[str, float] = Field(
        description="what first_pass_score, lm_score, num_words and each features.NAME add to the "
        "score, their weights included; they sum to it"
    )


class SureWord(_Body):
    """A word of the first hypothesis, and how sure it is (docs/confidence.md)."""

    word: str
    probability: float = Field(description="of being correct, 0 to 1")
    rival: str | None = Field(description='the best other word, "" for none; null: all agree')
    rival_probability: float


class RankedList(_Body):
    """The hypotheses in their new order, best first."""

    hypotheses: list[RankedHypothesis]
    words: list[SureWord]


class _Reranked(_Body):
    weights: Weights
    notes: list[str] = Field(description="such as scores that look like costs")
    signature: str


class ListAnswer(RankedList, _Reranked):
    """The hypotheses in their new order, best first."""


class ListsAnswer(_Reranked):
    """The lists of a request with `lists`."""

    lists: list[RankedList]


class EmbeddingsRequest(_Body):
    """OpenAI's request for embeddings. Other fields of theirs are ignored."""

    model_config = ConfigDict(extra="ignore")

    input: str | Texts | list[int] | list[list[int]] = Field(description="token ids are refused")
    model: str | None = Field(None, description="the name of this service's model")
    dimensions: int | None = Field(None, description="the model's own number, if given")
    encoding_format: Literal["float", "base64"] = Field(
        "float", description="base64: float32, little-endian"
    )


class PairsRequest(_Body):
    """Pairs of texts to compare."""

    pairs: Annotated[
        list[Annotated[list[str], Field(min_length=2, max_length=2)]], Field(min_length=1)
    ]


class Similarities(_Body):
    """One number per pair: the cosine of the texts' vectors or words, 0 without them."""

    similarities: list[float]
    signature: str


class Embedding(_Body):
    """The vector of a text."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class Usage(_Body):
    """The number of tokens."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(_Body):
    """OpenAI's answer."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: Usage


class Problem(_Body):
    """What is wrong with a request, in OpenAI's form."""

    message: str
    type: str


class ProblemAnswer(_Body):
    """The answer of a request that failed."""

    error: Problem


class Health(_Body):
    """The state of the service."""

    status: Literal["ok"] = "ok"
    model: str
    signature: str


def problem(message: str, status: int) -> dict[str, Any]:
    """The content of a `ProblemAnswer`."""
    kinds = {401: "authentication_error", 500: "server_error", 503: "overloaded_error"}
    return {"error": {"message": message, "type": kinds.get(status, "invalid_request_error")}}
