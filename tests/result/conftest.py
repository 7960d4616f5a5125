"""A schedule that the tests of results share."""

import pytest

from batchlab.result.result import Result
from support.results import Job, make_result


@pytest.fixture
def three() -> Result:
    """Three jobs on 4 nodes of 2 cores, and one that never fits.

    Job 1 holds 4 cores over [0, 100), job 2 holds 8 over [100, 150) having waited 90 s, job 3 holds 2 over
    [150, 160) having waited 130 s.
    """
    return make_result(
        [
            Job(0, 0, 100, nodes=((0, 2), (1, 2)), tasks=4),
            Job(10, 100, 150, nodes=((0, 2), (1, 2), (2, 2), (3, 2)), tasks=8),
            Job(20, 150, 160, nodes=((0, 2),), tasks=2),
            Job(30, state="rejected", tasks=9),
        ]
    )
