"""Values by their declared types."""

import numpy as np
import pytest

from batchlab.errors import ApplicationError
from batchlab.skeleton import named
from batchlab.skeleton.applications.registry import arguments_of, named_application
from batchlab.typed_values import flag_of, typed_value


def test_values_of_each_type() -> None:
    """Texts and what JSON has; numbers of NumPy too."""
    assert [typed_value(text, "bool") for text in ("yes", "True", "on", True)] == [True] * 4
    assert [typed_value(text, "bool") for text in ("no", "False", "off", np.False_)] == [False] * 4
    assert typed_value(np.int64(3), "int") == typed_value(3.0, "int") == 3
    assert typed_value([[1, 2.5]], "Sequence[Sequence[float]]") == ((1, 2.5),)
    assert typed_value(None, "Sequence[int] | None") is None
    assert flag_of("maybe") is flag_of(1) is None


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ("maybe", "bool"),
        (1, "bool"),
        (1.5, "int"),
        (True, "int"),
        ("1KB", "float"),
        (float("inf"), "float"),
        (-1, "float"),
        (3, "str"),
        (4, "Sequence[int]"),
        ([1.5], "Sequence[int]"),
        (None, "int"),
    ],
)
def test_values_of_no_type(value: object, annotation: str) -> None:
    """Are refused with the rule."""
    with pytest.raises(ValueError, match="must be"):
        typed_value(value, annotation)


def test_no_means_no() -> None:
    """`mutual=no` sends one way, `periodic=no` does not wrap round; as the truth values do."""
    for name, argument in (("even_odd", "mutual"), ("stencil_2d", "periodic")):
        by_text, by_value, other = (
            named(name, 6, given).assembled.digest
            for given in (arguments_of(f"{argument}=no"), {argument: False}, {argument: True})
        )
        assert by_text == by_value != other


@pytest.mark.parametrize("text", ["size=1, size=2", "size", "=1", "size=", '{"size": 1, "size": 2}'])
def test_texts_that_are_no_arguments(text: str) -> None:
    """An argument is a name and a value, once."""
    with pytest.raises(ApplicationError, match="app_args"):
        arguments_of(text)


@pytest.mark.parametrize("argument", ["root=1.5", "size=1KB", "size=1e400", "iterations=yes", "algorithm=3"])
def test_every_skeleton_reads_its_arguments_alike(argument: str) -> None:
    """A value of another type is refused by every skeleton that has the argument."""
    name = argument.partition("=")[0]
    for skeleton in ("bcast", "gather", "reduce", "scatter"):
        with pytest.raises(ApplicationError, match=rf"{skeleton}\(.*{name} = .*; must be"):
            named_application(skeleton, 4, argument)
