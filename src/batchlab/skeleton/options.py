"""How messages are passed: protocol, envelope and overheads."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from batchlab.errors import ApplicationError, shown

__all__ = ["MessageOptions"]


@dataclass(frozen=True, kw_only=True)
class MessageOptions:
    """How messages are passed.

    Parameters
    ----------
    eager_threshold
        Bytes of payload from which on messages are sent by rendezvous: they set out when both sides have
        posted them, and the send ends when they have arrived. Smaller ones are eager: they set out when they
        are sent, and their send ends at once. 0: all by rendezvous; infinite: none. 65,536 unless given, as
        in SMPI.
    envelope
        Bytes that each message has besides its payload; 16 unless given, as in SMPI.
    send_overhead, receive_overhead
        Seconds that a rank takes for each send before it posts it, and for each receive after it.

    Raises
    ------
    ApplicationError
        If a value is no number >= 0.

    Examples
    --------
    >>> import batchlab as bl
    >>> bl.skeleton.MessageOptions(eager_threshold=0).envelope
    16
    """

    eager_threshold: float = 65_536
    envelope: float = 16
    send_overhead: float = 0.0
    receive_overhead: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            infinite = field.name == "eager_threshold" and value == math.inf
            if not number or not (value >= 0 and (math.isfinite(value) or infinite)):
                raise ApplicationError(
                    f"MessageOptions: {field.name} = {shown(value)}; must be a number >= 0."
                )
