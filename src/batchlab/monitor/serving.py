"""The address of the page for browsers."""

import ipaddress
from dataclasses import dataclass

__all__ = ["Serving"]


@dataclass(frozen=True)
class Serving:
    """The address of the page.

    Parameters
    ----------
    host
        The listening address. The default can be reached from this machine only.
    port
        The port; 0 for any free port.
    """

    host: str = "127.0.0.1"
    port: int = 0

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"
