"""ElastiSim's projects: configuration, jobs, Python algorithms, protocol and output files."""

from typing import TYPE_CHECKING

from batchlab.lazy import lazily

if TYPE_CHECKING:
    from batchlab.bridge.elastisim.configuration import Configuration as Configuration
    from batchlab.bridge.elastisim.configuration import read_configuration as read_configuration
    from batchlab.bridge.elastisim.jobs import ElastisimJob as ElastisimJob
    from batchlab.bridge.elastisim.jobs import read_jobs as read_jobs
    from batchlab.bridge.elastisim.project import Project as Project
    from batchlab.bridge.elastisim.project import open_project as open_project
    from batchlab.bridge.elastisim.runner import Run as Run
    from batchlab.bridge.elastisim.runner import run as run
    from batchlab.bridge.elastisim.transcript import read_transcript as read_transcript
    from batchlab.bridge.elastisim.workload import read_workload as read_workload

_HOMES = {
    "Configuration": "configuration",
    "ElastisimJob": "jobs",
    "Project": "project",
    "Run": "runner",
    "open_project": "project",
    "run": "runner",
    "read_configuration": "configuration",
    "read_jobs": "jobs",
    "read_transcript": "transcript",
    "read_workload": "workload",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605  # the names are strings

__getattr__, __dir__ = lazily(__name__, _HOMES)
