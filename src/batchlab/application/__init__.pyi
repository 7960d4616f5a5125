# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.application.application import Application as Application
from batchlab.application.application import Phase as Phase
from batchlab.application.application import Stage as Stage
from batchlab.application.files import read_application as read_application
from batchlab.application.files import write_application as write_application
