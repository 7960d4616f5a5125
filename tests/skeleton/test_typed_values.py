"""Values by their declared types."""

import numpy as np
import pytest

from batchlab.errors import ApplicationError
from batchlab.skeleton import named
from batchlab.skeleton.registry import arguments_of, named_application, typed_value


def test_values_of_each_type() -> None:
    """Texts and what JSON has; numbers of NumPy too."""
    assert [typed_value(text, "bool") for text in ("true", "True", "TRUE", True)] == [True] * 4
    assert [typed_value(text, "bool") for text in ("false", "False", "fALSE", np.False_)] == [False] * 4
    assert typed_value(np.int64(3), "int") == typed_value(3.0, "int") == 3
    assert typed_value([[1, 2.5]], "Sequence[Sequence[float]]") == ((1, 2.5),)
    assert typed_value(None, "Sequence[int] | None") is None


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ("maybe", "bool"),
        ("yes", "bool"),
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
    """`mutual=false` sends one way, `periodic=false` does not wrap round; no is refused, and false named."""
    for name, argument in (("even_odd", "mutual"), ("stencil_2d", "periodic")):
        by_text, by_value, other = (
            named(name, 6, given).assembled.digest
            for given in (arguments_of(f"{argument}=false"), {argument: False}, {argument: True})
        )
        assert by_text == by_value != other
        with pytest.raises(ApplicationError, match="must be true or false: write false"):
            named(name, 6, arguments_of(f"{argument}=no"))


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
