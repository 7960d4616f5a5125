# What the package offers, for checkers and for `lazily`, which imports a name when it is first asked for.

from batchlab.bridge.elastisim.configuration import Configuration as Configuration
from batchlab.bridge.elastisim.configuration import read_configuration as read_configuration
from batchlab.bridge.elastisim.jobs import ElastisimJob as ElastisimJob
from batchlab.bridge.elastisim.jobs import read_jobs as read_jobs
from batchlab.bridge.elastisim.project import Project as Project
from batchlab.bridge.elastisim.project import open_project as open_project
from batchlab.bridge.elastisim.project import read_workload as read_workload
from batchlab.bridge.elastisim.protocol import read_transcript as read_transcript
from batchlab.bridge.elastisim.runner import Run as Run
from batchlab.bridge.elastisim.runner import clear as clear
from batchlab.bridge.elastisim.runner import run as run
