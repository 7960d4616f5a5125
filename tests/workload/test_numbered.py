"""Numbers of values, by a table and by sorting."""

import numpy as np
import pytest

from batchlab.workload.routing import numbered


@pytest.mark.parametrize("values", [[3, -1, 3, 7], [0, 2**60, 0, -(2**60)], [5], []])
def test_distinct_values_and_places(values: list[int]) -> None:
    """They are the same as NumPy's, near each other or far apart."""
    given = np.array(values, np.int64)
    distinct, places = numbered(given)
    expected, inverse = np.unique(given, return_inverse=True)
    assert distinct.tolist() == expected.tolist()
    assert places.tolist() == inverse.tolist()
