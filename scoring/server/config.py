"""Settings of tta serve and tta demo."""

import os
from dataclasses import dataclass

from tta.choices import AccessLog, Normalizer
from tta.errors import InputError
from tta.scoring.reranking.config import RescoreConfig
from tta.settings import MODEL, setting

BLANKS = " \t\r\n"  # which HTTP drops at the ends of a header, and shells and files add


@dataclass(frozen=True, kw_only=True)
class ServerConfig(RescoreConfig):
    """Where the service listens, and what a request may ask for."""

    host: str = setting(
        "127.0.0.1",
        "Address to listen on. The default is reached from this machine only; 0.0.0.0 is every "
        "address of it. There is no encryption: a proxy may add it.",
        group="Server",
    )
    port: int = setting(8000, "Port to listen on. 0: a free one.", 0, 65_535)
    allowed_hosts: list[str] = setting(
        [],
        "Names under which clients reach the service, such as the one of a container, besides the "
        "addresses and the name of this machine. *: any name; then pages of other sites can read "
        "answers.",
    )
    api_key: str | None = setting(
        None,
        "Requests must have the header Authorization: Bearer KEY, but for the pages and /health. "
        "Default: $TTA_API_KEY, which other users of the machine cannot see, or no key.",
    )
    workers: int = setting(
        1, "Processes that answer. Each has its own copy of the model and its share of cores.", 1
    )
    access_log: AccessLog = setting(
        "none", "Write each request to standard error, without its texts, as a line or as json."
    )
    representation: str | None = setting(
        None,
        "Vectors of /v1/embeddings and /v1/similarity, as in tta sts. aligned and alignment are "
        "for /v1/similarity only. Default: the model's first.",
    )
    list_normalizer: Normalizer = setting(
        "auto",
        "As --normalizer, for the lists of /v1/rerank. The default is that of tta rerank, so that "
        "the same list gets the same answer from both.",
        group=MODEL,
    )
    max_body_bytes: int = setting(1 << 20, "Bytes of a request's body.", 1, group="Limits")
    max_texts: int = setting(1000, "Texts of a request.", 1)
    max_characters: int = setting(10_000, "Characters of a text.", 1)
    max_waiting_texts: int = setting(
        20_000, "Texts of all requests that wait for the model. Beyond them the answer is 503.", 1
    )
    timeout: float = setting(
        30.0,
        "Seconds in which a request must arrive, again in which it is answered, and again in which "
        "the client reads the answer.",
        0.01,
    )
    batch_texts: int = setting(
        512,
        "Texts that the model scores together, at most. Requests that wait are joined; 1 scores "
        "each text alone.",
        1,
    )

    def __post_init__(self):
        super().__post_init__()
        key = self._stated_key()
        if key and not key.strip(BLANKS):
            raise InputError("the key of --api_key or $TTA_API_KEY is blank")
        if not key.strip(BLANKS).isprintable():
            raise InputError("the key of --api_key or $TTA_API_KEY has control characters")

    @property
    def key(self) -> str:
        """The key that requests need, without white space at its ends; "" for none."""
        return self._stated_key().strip(BLANKS)

    def _stated_key(self) -> str:
        return self.api_key or os.environ.get("TTA_API_KEY", "")
