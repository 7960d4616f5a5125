"""Experiments: many runs, kept in a store, summed up in tables."""

from typing import TYPE_CHECKING

from batchlab.lazy import lazily

if TYPE_CHECKING:
    from batchlab.experiment.experiment import Experiment as Experiment
    from batchlab.experiment.experiment import dispatchers as dispatchers
    from batchlab.experiment.runs import Runs as Runs
    from batchlab.experiment.source import LogFile as LogFile

_HOMES = {
    "Experiment": "experiment",
    "LogFile": "source",
    "Runs": "runs",
    "dispatchers": "experiment",
}

__all__ = ["Experiment", "LogFile", "Runs", "dispatchers"]

__getattr__, __dir__ = lazily(__name__, _HOMES)
