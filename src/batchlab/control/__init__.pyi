# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.control.controls import CONTROLS as CONTROLS
from batchlab.control.controls import ConstantRate as ConstantRate
from batchlab.control.controls import CountHysteresis as CountHysteresis
from batchlab.control.controls import Ondemand as Ondemand
from batchlab.control.controls import Performance as Performance
from batchlab.control.controls import Powersave as Powersave
from batchlab.control.controls import RandomisedRate as RandomisedRate
from batchlab.control.controls import RateControl as RateControl
from batchlab.control.controls import RateLoad as RateLoad
from batchlab.control.controls import Schedutil as Schedutil
from batchlab.control.controls import WorkloadHysteresis as WorkloadHysteresis
from batchlab.control.controls import parse_control as parse_control
