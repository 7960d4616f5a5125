"""The option ``--sleep``: when idle nodes sleep."""

from batchlab.cli.failure import wrong_usage
from batchlab.errors import SimulationError
from batchlab.options import NodeSleep

__all__ = ["sleep_of"]


def sleep_of(given: str | None) -> NodeSleep | None:
    """Read the value of ``--sleep``: a spec; None where none is given."""
    try:
        return None if given is None else NodeSleep.parse(given)
    except SimulationError as error:
        raise wrong_usage(str(error), "--sleep") from None
