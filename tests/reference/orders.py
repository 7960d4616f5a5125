"""Orders of the queue: the key of a job, and whether it changes with time; multifactor is in `priorities`."""

from math import sqrt

from reference.model import Expression, Job, Machine, Order
from reference.numbers import clean, divide, log2, log10, mix
from reference.queues import least_nodes


def is_dynamic(order: Order) -> bool:
    """Tell whether keys are computed at every pass instead of once at submission."""
    return order.dynamic if isinstance(order, Expression) else order in {"wfp3", "unicef"}


def order_key(order: Order, job: Job, machine: Machine, now: float, estimate: float | None = None) -> float:
    """Give the key of a job; the smallest comes first."""
    cores = dict(zip(machine.resources, job.request, strict=True)).get("core", 1)
    p = job.tasks * cores
    r = job.requested_time if estimate is None else estimate
    s = job.submit_time
    w = now - s
    q = divide(w, r)
    if isinstance(order, Expression):
        return clean(order.key(job, now, p))
    name, argument = order if isinstance(order, tuple) else (order, 0)
    keys = {
        "fcfs": lambda: 0.0,
        "sjf": lambda: r,
        "ljf": lambda: -r,
        "saf": lambda: r * p,
        "laf": lambda: -(r * p),
        "sjf_node_hours": lambda: r * least_nodes(job, machine),
        "ljf_node_hours": lambda: -(r * least_nodes(job, machine)),
        "smallest": lambda: float(p),
        "largest": lambda: -float(p),
        "mpp": lambda: -float(job.queue_priority),
        "wfp3": lambda: -(q * q * q * p),
        "unicef": lambda: -divide(w, log2(p) * r),
        "f1": lambda: log10(max(r, 1)) * p + 870 * log10(max(s, 1)),
        "f2": lambda: sqrt(r) * p + 25600 * log10(max(s, 1)),
        "f3": lambda: r * p + 6860000 * log10(max(s, 1)),
        "f4": lambda: r * sqrt(p) + 530000 * log10(max(s, 1)),
        "random": lambda: float(mix(int(argument), job.row)),
        "sbp": lambda: argument * s - job.score,
    }
    return clean(keys[str(name)]())
