"""Workload models: jobs made up by published or plausible rules, the same for the same seed."""

from typing import TYPE_CHECKING

from batchlab.lazy import lazily

if TYPE_CHECKING:
    from batchlab.generate.by_hand import from_distributions as from_distributions
    from batchlab.generate.comparison import Comparison as Comparison
    from batchlab.generate.comparison import compare as compare
    from batchlab.generate.demo import demo_system as demo_system
    from batchlab.generate.demo import demo_workload as demo_workload
    from batchlab.generate.distributions import Constant as Constant
    from batchlab.generate.distributions import Distribution as Distribution
    from batchlab.generate.distributions import Empirical as Empirical
    from batchlab.generate.distributions import Exponential as Exponential
    from batchlab.generate.distributions import Gamma as Gamma
    from batchlab.generate.distributions import Harmonic as Harmonic
    from batchlab.generate.distributions import Lognormal as Lognormal
    from batchlab.generate.distributions import LogUniform as LogUniform
    from batchlab.generate.distributions import Mixture as Mixture
    from batchlab.generate.distributions import Pareto as Pareto
    from batchlab.generate.distributions import TwoStageUniform as TwoStageUniform
    from batchlab.generate.distributions import Uniform as Uniform
    from batchlab.generate.distributions import Weibull as Weibull
    from batchlab.generate.feitelson96 import FeitelsonParameters as FeitelsonParameters
    from batchlab.generate.feitelson96 import feitelson as feitelson
    from batchlab.generate.fitting import FAMILIES as FAMILIES
    from batchlab.generate.fitting import Fit as Fit
    from batchlab.generate.fitting import fit as fit
    from batchlab.generate.jann97 import HyperErlang as HyperErlang
    from batchlab.generate.jann97 import JannClass as JannClass
    from batchlab.generate.jann97 import JannModel as JannModel
    from batchlab.generate.jann97 import jann as jann
    from batchlab.generate.lublin99 import LublinParameters as LublinParameters
    from batchlab.generate.lublin99 import lublin as lublin
    from batchlab.generate.mimic import like as like
    from batchlab.generate.sizes import SizeModel as SizeModel
    from batchlab.generate.tsafrir05 import estimate_distribution as estimate_distribution
    from batchlab.generate.tsafrir05 import estimates as estimates
    from batchlab.generate.work import gflops as gflops

# Modules are named otherwise than what is in them, since a module would hide a name of the package.
_HOMES = {
    "Comparison": "comparison",
    "Constant": "distributions",
    "Distribution": "distributions",
    "Empirical": "distributions",
    "Exponential": "distributions",
    "FAMILIES": "fitting",
    "FeitelsonParameters": "feitelson96",
    "Fit": "fitting",
    "Gamma": "distributions",
    "Harmonic": "distributions",
    "HyperErlang": "jann97",
    "JannClass": "jann97",
    "JannModel": "jann97",
    "LogUniform": "distributions",
    "Lognormal": "distributions",
    "LublinParameters": "lublin99",
    "Mixture": "distributions",
    "Pareto": "distributions",
    "SizeModel": "sizes",
    "TwoStageUniform": "distributions",
    "Uniform": "distributions",
    "Weibull": "distributions",
    "compare": "comparison",
    "demo_system": "demo",
    "demo_workload": "demo",
    "estimate_distribution": "tsafrir05",
    "estimates": "tsafrir05",
    "feitelson": "feitelson96",
    "fit": "fitting",
    "from_distributions": "by_hand",
    "gflops": "work",
    "jann": "jann97",
    "like": "mimic",
    "lublin": "lublin99",
}

__all__ = [
    "FAMILIES",
    "Comparison",
    "Constant",
    "Distribution",
    "Empirical",
    "Exponential",
    "FeitelsonParameters",
    "Fit",
    "Gamma",
    "Harmonic",
    "HyperErlang",
    "JannClass",
    "JannModel",
    "LogUniform",
    "Lognormal",
    "LublinParameters",
    "Mixture",
    "Pareto",
    "SizeModel",
    "TwoStageUniform",
    "Uniform",
    "Weibull",
    "compare",
    "demo_system",
    "demo_workload",
    "estimate_distribution",
    "estimates",
    "feitelson",
    "fit",
    "from_distributions",
    "gflops",
    "jann",
    "like",
    "lublin",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
