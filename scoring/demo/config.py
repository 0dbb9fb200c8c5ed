"""Settings of tta-demo."""

from dataclasses import dataclass

from tta.settings import Config, setting


@dataclass(frozen=True, kw_only=True)
class DemoConfig(Config):
    """Where the page is served."""

    host: str = setting(
        "127.0.0.1",
        "Address to listen on. The default is reached from this machine only. The page has no "
        "password and no encryption.",
    )
    port: int = setting(8000, "Port to listen on. 0: a free one.", 0, 65_535)
