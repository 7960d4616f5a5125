"""Predictors: what a job's run time is taken to be by schedulers."""

from batchlab.lazy import listing
from batchlab.predictor.history import LastTwo, RecursiveMean
from batchlab.predictor.known import Clairvoyant, Requested
from batchlab.predictor.quantile import Quantile
from batchlab.seam.components import Predictor

__all__ = ["PREDICTORS", "Clairvoyant", "LastTwo", "Quantile", "RecursiveMean", "Requested"]

__dir__ = listing(__name__)

PREDICTORS: dict[str, type[Predictor]] = {
    "clairvoyant": Clairvoyant,
    "last_two": LastTwo,
    "quantile": Quantile,
    "recursive_mean": RecursiveMean,
    "requested": Requested,
}
"""The predictors that specs may name."""
