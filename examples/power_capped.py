"""Keep the machine below a power cap that falls at peak hours."""

from typing import Any

import polars as pl

import batchlab as bl
from batchlab.core.units import format_duration, format_energy, format_power
from batchlab.generate import demo_system, demo_workload
from batchlab.seam import View

HOUR = 3600.0


class PowerCapped(bl.Scheduler):
    """First fit, of the jobs that keep to the cap for as long as they may run.

    `allows` asks for the power once the job has started, and for the lowest cap until its estimated end.
    Jobs that run then were started by the same rule, and no job draws more when another ends: the cap is
    never exceeded, unless idle nodes alone do so.
    """

    def schedule(self, view: View) -> None:
        """Start every job that fits and that the cap allows, in order."""
        power = view.values["power"]
        for job in view.candidates():
            if power.allows(job):
                view.start(job)


def main() -> None:
    """Run the same jobs without a cap and under one, and compare what they draw, cost and wait."""
    peak, night = 8 * HOUR, 20 * HOUR
    nodes = bl.NodePower(idle=90, busy=140, per_unit={"core": 20})
    cap = {"time": [0, peak, night, 24 * HOUR], "value": [9000, 6000, 9000, 9000]}
    tariff = {"time": [0, peak, night], "value": [0.12, 0.30, 0.12]}
    print("            peak power   at peak hours      energy      cost    mean wait")
    for name, scheduler, limit in (("without cap", "first_fit", None), ("under a cap", PowerCapped(), cap)):
        observers = [bl.Power(nodes, cap=limit), bl.EnergyPrice(tariff)]
        result = bl.simulate(demo_workload(400), demo_system(), scheduler, observers=observers)
        power = result.observations["power"]
        at_peak = max(power.filter(pl.col("time").is_between(peak, night, closed="left"))["power"].to_list())
        measured: dict[str, Any] = result.metrics()
        energy, wait = measured["energy"], measured["wait"]
        drawn = f"{format_power(energy['peak_power']):>10}  {format_power(at_peak):>14}"
        used = f"{format_energy(energy['total']):>10}  {measured['cost']:8.2f}"
        print(f"{name}  {drawn}  {used}  {format_duration(wait['mean']):>11}")


if __name__ == "__main__":
    main()
