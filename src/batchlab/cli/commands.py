"""Names and one-line descriptions of all commands. `batchlab --help` imports none of the commands."""

__all__ = ["COMMANDS", "DESCRIPTION", "EPILOG", "HOMES", "VERSIONS_HELP", "VERSION_HELP"]

DESCRIPTION = "A laboratory for HPC batch scheduling: simulate a workload on a machine under a policy."
EPILOG = "First step: batchlab demo"
VERSION_HELP = "Show the version and exit."
VERSIONS_HELP = "Show the versions of all packages, with their sizes, and exit."

COMMANDS = {
    "run": "Simulate a log on a machine under a policy; show waits, slowdowns and utilisation.",
    "compare": "Simulate a log under several policies, and compare the results.",
    "experiment": "Run an experiment file: workloads on systems under policies. Finished runs are reused.",
    "report": "Write an HTML report on written runs.",
    "why": "Explain why a job of a written run waited, or split the waiting of all jobs.",
    "plot": "Draw a plot of written runs: distributions, time series, schedules.",
    "demo": "Simulate a small synthetic workload, and compare four policies.",
    "elastisim": "Run an ElastiSim project: platform, jobs, application models and scheduling algorithm.",
    "generate": "Generate a synthetic workload from a published model, or like a log.",
    "mix": "Insert application jobs into a log, and assign applications to its own jobs, at random.",
    "anonymise": "Replace the names of users, groups, accounts, jobs and hosts in a log by numbers.",
    "platform": "Show the hosts, links and zones of a platform file, or a route on it.",
    "policies": "List the orders, backfilling rules, disciplines, allocators and predictors.",
    "forecast": "Forecast the start times of the waiting jobs of a log at one instant.",
    "adequacy": "Measure the distance between the jobs of a real system and of a model.",
    "vnodes": "Run a log on a real Slurm with virtual nodes, and compare it with the model.",
    "watch": "Show the state of a running simulation: waiting and running jobs, utilisation.",
    "bundle": "Pack a run to report a wrong schedule, or repeat a packed run.",
    "slurm": "Check and compare Slurm configurations, fit a model to a log, forecast starts.",
    "systems": "List and show ready machine descriptions.",
    "traces": "List and fetch logs of the Parallel Workloads Archive; list data sets; find examples.",
}
"""Name of each command (also of its function), and the first line of its help."""

HOMES = {
    "compare": "experiment",
    "report": "written",
    "why": "written",
    "bundle": "written",
    "demo": "run",
    "elastisim": "bridges",
    "mix": "generate",
    "platform": "catalogues",
    "policies": "catalogues",
    "vnodes": "bridges",
    "systems": "catalogues",
    "traces": "catalogues",
}
"""The modules of commands that are not modules of their own."""
