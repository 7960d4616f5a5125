"""Names and one-line descriptions of all commands. `batchlab --help` imports none of the commands."""

__all__ = ["COMMANDS", "DESCRIPTION", "EPILOG", "HOMES", "VERSIONS_HELP", "VERSION_HELP"]

DESCRIPTION = "The laboratory for HPC batch scheduling: replay a workload on a machine under a policy."
EPILOG = "Begin with: batchlab demo"
VERSION_HELP = "Show the version and exit."
VERSIONS_HELP = "Show the versions of all packages, with their sizes, and exit."

COMMANDS = {
    "run": "Replay a log on a machine under a policy, and tell what would have happened to every job.",
    "compare": "Replay a log under several policies, and tell how they differ.",
    "experiment": "Run workloads on systems under policies, as a file describes; what is finished is not run "
    "again.",
    "report": "Report on runs that were written, in one page that opens anywhere.",
    "why": "Tell why a job of a run that was written waited: who had the machine, and what set its start.",
    "plot": "Draw runs that were written: distributions, courses over time, schedules.",
    "demo": "Make up a small workload, run it, and compare a few policies on it.",
    "elastisim": "Run an ElastiSim project unchanged: its platform, jobs, application models and scheduling "
    "algorithm.",
    "generate": "Make a workload: by a published model, or like a log for a machine that may be another one.",
    "mix": "Insert jobs that run an application at random points of a log; give its own jobs others at "
    "random.",
    "platform": "Show the hosts, links and zones of a platform file, or a route on it.",
    "policies": "List the orders, backfilling rules, disciplines, allocators and predictors.",
    "forecast": "Forecast when the waiting jobs of a log start, at one instant of its replay.",
    "adequacy": "Measure how far a model's stream of jobs is from the real one.",
    "vnodes": "Feed a log to a real Slurm on virtual nodes, and to our own model of it.",
    "watch": "Ask a simulation that is running how it stands: what waits, what runs where, what is in use.",
    "bundle": "Pack a run for a report of a fault, or repeat such a run.",
    "slurm": "A cluster that runs Slurm: its configuration, as a simulation has it.",
    "systems": "Ready descriptions of machines, by name.",
    "traces": "The logs of the Parallel Workloads Archive by name, and public data sets.",
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
