"""Settings of tta serve and tta demo."""

from dataclasses import dataclass

from tta.scoring.reranking.config import RescoreConfig
from tta.settings import setting


@dataclass(frozen=True, kw_only=True)
class ServerConfig(RescoreConfig):
    """Where the service listens, and what a request may ask for."""

    host: str = setting(
        "127.0.0.1",
        "Address to listen on. The default is reached from this machine only; 0.0.0.0 is every "
        "address of it. There is no password and no encryption: a proxy may add them.",
        group="Server",
    )
    port: int = setting(8000, "Port to listen on. 0: a free one.", 0, 65_535)
    allowed_hosts: list[str] = setting(
        [],
        "Names under which clients reach the service, such as the one of a container, besides the "
        "addresses and the name of this machine. *: any name; then pages of other sites can read "
        "answers.",
    )
    max_body_bytes: int = setting(1 << 20, "Bytes of a request's body.", 1, group="Limits")
    max_texts: int = setting(1000, "Texts of a request.", 1)
    max_characters: int = setting(10_000, "Characters of a text.", 1)
    max_waiting_texts: int = setting(
        20_000, "Texts of all requests that wait for the model. Beyond them the answer is 503.", 1
    )
    timeout: float = setting(
        30.0, "Seconds in which a request must arrive, and again in which it is answered.", 0.01
    )
    batch_texts: int = setting(
        512,
        "Texts that the model scores together. Requests that wait are joined; 1 scores each "
        "request alone.",
        1,
    )
