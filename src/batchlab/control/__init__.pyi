# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.control.governors import Ondemand as Ondemand
from batchlab.control.governors import Performance as Performance
from batchlab.control.governors import Powersave as Powersave
from batchlab.control.governors import Schedutil as Schedutil
from batchlab.control.parse import CONTROLS as CONTROLS
from batchlab.control.parse import parse_control as parse_control
from batchlab.control.rate_control import RateControl as RateControl
from batchlab.control.rate_control import RateLoad as RateLoad
from batchlab.control.rules import ConstantRate as ConstantRate
from batchlab.control.rules import CountHysteresis as CountHysteresis
from batchlab.control.rules import RandomisedRate as RandomisedRate
from batchlab.control.rules import WorkloadHysteresis as WorkloadHysteresis
