"""Plots, one function each: they draw results on `matplotlib.axes.Axes`, and set nothing global."""

from batchlab.lazy import make_dir
from batchlab.plot.adequacy import adequacy_by_jobs, adequacy_differences, adequacy_starts
from batchlab.plot.allocation_map import allocation_map
from batchlab.plot.allocations import allocations
from batchlab.plot.arrivals import arrivals
from batchlab.plot.cpu_time import cpu_time
from batchlab.plot.cpu_time_by_queue_size import cpu_time_by_queue_size
from batchlab.plot.fair_share import fair_share
from batchlab.plot.fit import fit_search
from batchlab.plot.fragmentation import fragmentation
from batchlab.plot.free_nodes import free_nodes
from batchlab.plot.free_slots import free_slots
from batchlab.plot.gantt import gantt
from batchlab.plot.gflops import gflops
from batchlab.plot.hops import hop_bytes, hops
from batchlab.plot.interference import interference
from batchlab.plot.job_measures import allocation_efficiency, slowdown, turnaround, wait
from batchlab.plot.job_nodes import job_nodes
from batchlab.plot.job_sizes import job_sizes
from batchlab.plot.job_times import job_times
from batchlab.plot.link_loads import link_loads
from batchlab.plot.load import load
from batchlab.plot.memory import memory
from batchlab.plot.platform_activity import platform_activity
from batchlab.plot.power import power
from batchlab.plot.power_states import power_states
from batchlab.plot.queue_size import queue_size
from batchlab.plot.rates import rates
from batchlab.plot.run_times import run_times
from batchlab.plot.scalability import scalability
from batchlab.plot.utilisation import utilisation
from batchlab.plot.waiting_reasons import waiting_reasons
from batchlab.plot.what_if import what_if

__all__ = [
    "adequacy_by_jobs",
    "adequacy_differences",
    "adequacy_starts",
    "allocation_efficiency",
    "allocation_map",
    "allocations",
    "arrivals",
    "cpu_time",
    "cpu_time_by_queue_size",
    "fair_share",
    "fit_search",
    "fragmentation",
    "free_nodes",
    "free_slots",
    "gantt",
    "gflops",
    "hop_bytes",
    "hops",
    "interference",
    "job_nodes",
    "job_sizes",
    "job_times",
    "link_loads",
    "load",
    "memory",
    "platform_activity",
    "power",
    "power_states",
    "queue_size",
    "rates",
    "run_times",
    "scalability",
    "slowdown",
    "turnaround",
    "utilisation",
    "wait",
    "waiting_reasons",
    "what_if",
]

__dir__ = make_dir(__name__)
