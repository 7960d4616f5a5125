"""Parts of ElastiSim projects, made by hand."""

from collections.abc import Mapping

from batchlab.bridge.elastisim.jobs import ElastisimJob, JobType

__all__ = ["job_of"]


def job_of(
    kind: JobType = "malleable", nodes: tuple[int, int] = (1, 3), arguments: Mapping[str, str] | None = None
) -> ElastisimJob:
    """Describe a job."""
    return ElastisimJob(
        place="jobs.json: jobs[0]",
        type=kind,
        submit_time=0.0,
        walltime=0.0,
        nodes=nodes,
        gpus_per_node=(0, 2) if kind != "rigid" else (0, 0),
        application_model="app.json",
        arguments=arguments or {},
        attributes={},
    )
