"""Read carbon intensities from a CSV file in an observer, and delay jobs until energy is clean."""

import tempfile
from pathlib import Path
from typing import Any

import polars as pl

import batchlab as bl
from batchlab.core.units import format_duration
from batchlab.generate import demo_system, demo_workload
from batchlab.seam import View

HOUR = 3600.0
WEATHER = "time,celsius\n0,11.5\n21600,17.0\n43200,24.5\n64800,19.0\n86400,12.0\n"


class Weather(bl.Observer):
    """Reads the outside temperature from a CSV file, and tells what it was when each job started."""

    name = "weather"

    def __init__(self, path: Path) -> None:
        self.table = pl.read_csv(path)

    def begin(self, view: View) -> None:
        """Begin with no job."""
        self.at_start: list[float | None] = [None] * len(view.columns["job_id"])

    def started(self, job: bl.Job, view: View) -> None:
        """Take note of a start."""
        self.at_start[job.row] = self.value(view)

    def value(self, view: View) -> float:
        """Return the current temperature: the last reading."""
        return float(self.table.filter(pl.col("time") <= view.now)["celsius"][-1])

    def observations(self, view: View) -> dict[str, pl.DataFrame]:  # noqa: ARG002 - the seam's
        """Return a column for the jobs."""
        return {"jobs": pl.DataFrame({"celsius_at_start": self.at_start})}


class WaitForCleanEnergy(bl.Scheduler):
    """First fit, but a job may wait for up to six hours while energy is dirtier than it will be."""

    def schedule(self, view: View) -> None:
        """Start what is not worth waiting for."""
        carbon = view.values["carbon"]
        cleanest = carbon.lowest(view.now, view.now + 6 * HOUR)
        for job in view.candidates():
            patient = view.now - job.submit_time < 6 * HOUR
            if not (patient and cleanest < 0.8 * carbon.now):
                view.start(job)


def main() -> None:
    """Run the same jobs with and without waiting for clean energy."""
    hours = range(0, 72, 3)
    solar = [450 - 250 * (hour % 24 in range(9, 18)) for hour in hours]
    grams = {"time": [hour * HOUR for hour in hours], "value": solar}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weather.csv"
        file.write_text(WEATHER)
        for name, scheduler in (("FirstFit", "first_fit"), ("WaitForCleanEnergy", WaitForCleanEnergy())):
            power = bl.Power(bl.NodePower(idle=20, busy=140, per_unit={"core": 20}))
            observers = [power, bl.CarbonIntensity(grams), Weather(file)]
            result = bl.simulate(demo_workload(400), demo_system(), scheduler, observers=observers)
            measured: dict[str, Any] = result.metrics()
            warmest = max(result.jobs["celsius_at_start"].to_list())
            print(
                f"{name:18} {measured['emissions'] / 1000:6.1f} kg of CO2, mean wait "
                f"{format_duration(measured['wait']['mean'])}, at most {warmest} degrees outside at a start"
            )


if __name__ == "__main__":
    main()
