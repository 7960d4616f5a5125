"""Generate jobs like a log's for a machine with GPUs on a quarter of its nodes."""

import batchlab as bl

NODE = {"core": 8}
CORE, GPU = 4.0, 200.0  # GFLOP per second


def machine(nodes: int, with_gpus: int) -> bl.System:
    """Describe a machine with two GPUs on some of its nodes."""
    groups = [bl.NodeGroup("plain", nodes - with_gpus, NODE)]
    if with_gpus:
        groups.append(bl.NodeGroup("gpu", with_gpus, {**NODE, "gpu": 2}))
    return bl.System(tuple(groups))


def main() -> None:
    """Print requests and waits of the jobs on each machine."""
    log = bl.generate.estimates(bl.generate.lublin(5000, nodes=256, seed=1))
    for with_gpus in (0, 8):
        system = machine(32, with_gpus)
        performance = {"core": CORE} | ({"gpu": GPU} if with_gpus else {})
        made = bl.generate.like(
            log, 5000, system=system, performance=performance, performance_of_log={"core": CORE}, seed=1
        )
        likeness = bl.generate.compare(log, made, performance=performance, performance_of_real={"core": CORE})
        slowdown = bl.metrics.bounded_slowdown(bl.simulate(made, system, "easy").jobs).to_numpy().mean()
        hours = made.jobs["run_time"].to_numpy().sum() / 3600
        print(system)
        print(f"  GFLOP per job: distance {likeness.distance:.2f} from the log's")
        print(f"  run times: {hours:,.0f} h in all; mean bounded slowdown {slowdown:.1f}")


if __name__ == "__main__":
    main()
