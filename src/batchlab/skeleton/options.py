"""Options of message passing: protocol, envelope and overheads."""

from __future__ import annotations

from dataclasses import dataclass

from batchlab.core import rules
from batchlab.errors import ApplicationError


@dataclass(frozen=True, kw_only=True)
class MessageOptions:
    """Options of message passing.

    Parameters
    ----------
    eager_threshold
        Payload in bytes from which messages use the rendezvous protocol: their transfer begins when both
        sides have posted them, and the send completes on arrival. Smaller messages are eager: their transfer
        begins when they are sent, and the send completes immediately. 0: always rendezvous; infinite: never.
        65,536 by default, as in SMPI.
    envelope
        Bytes of each message in addition to its payload; 16 by default, as in SMPI.
    send_overhead, receive_overhead
        Seconds that a rank spends before it posts a send, and after each receive.

    Raises
    ------
    ApplicationError
        If a value is not a number >= 0.

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
        rules.hold(
            self,
            ApplicationError,
            "MessageOptions: ",
            eager_threshold=rules.Number(0, finite=False),
            envelope=rules.NOT_NEGATIVE,
            send_overhead=rules.NOT_NEGATIVE,
            receive_overhead=rules.NOT_NEGATIVE,
        )
