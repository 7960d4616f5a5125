"""Predictors: estimates of run times for schedulers."""

from batchlab.core.lazy import make_dir
from batchlab.predictor.predictors import Clairvoyant, LastTwo, Quantile, RecursiveMean, Requested
from batchlab.seam.components import Predictor

__all__ = ["PREDICTORS", "Clairvoyant", "LastTwo", "Quantile", "RecursiveMean", "Requested"]

__dir__ = make_dir(__name__)

PREDICTORS: dict[str, type[Predictor]] = {
    "clairvoyant": Clairvoyant,
    "last_two": LastTwo,
    "quantile": Quantile,
    "recursive_mean": RecursiveMean,
    "requested": Requested,
}
"""Predictors by their names in specs."""
