"""Where the page for browsers is served."""

from dataclasses import dataclass

__all__ = ["Serving"]


@dataclass(frozen=True)
class Serving:
    """Where the page is served.

    Parameters
    ----------
    host
        The address to listen at; only this machine can reach the usual one.
    port
        0 for any that is free.
    """

    host: str = "127.0.0.1"
    port: int = 0
