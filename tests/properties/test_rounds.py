"""Aggregated skeletons end when the plain-Python reference says, also next to other jobs."""

import pytest

from support.round_cases import expected, found, random_case

CASES, CHUNKS = 400, 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_kernel_equals_reference(chunk: int) -> None:
    """Point to point and collectives, any options, several jobs on the same links."""
    for seed in range(chunk, CASES, CHUNKS):
        case = random_case(seed)
        kernel, reference = found(case), expected(case)
        if kernel != pytest.approx(reference, rel=1e-9, abs=1e-15):
            pytest.fail(f"random_case({seed}): {case}\n{kernel}, not\n{reference}", pytrace=False)
