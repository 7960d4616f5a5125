"""Where the page for browsers is served."""

import ipaddress
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

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"
