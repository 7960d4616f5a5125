"""Resources and numbers in the values of options, as in ``core=4,gpu=2``."""

from batchlab.cli.failure import wrong_usage

__all__ = ["amounts", "numbers"]


def numbers(text: str, option: str) -> dict[str, float]:
    """Parse ``core=1.667,gpu=933``.

    Parameters
    ----------
    text
        The option's value; an empty text has no numbers.
    option
        The option's name, for errors.

    Returns
    -------
    dict
        Resource name to number.
    """
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, number = _pair(part, option)
        if name in found:
            raise wrong_usage(f"{text!r}; names {name} twice. Leave one out.", option)
        found[name] = number
    return found


def _pair(part: str, option: str) -> tuple[str, float]:
    name, _, number = (each.strip() for each in part.partition("="))
    try:
        if name:
            return name, float(number)
    except ValueError:
        pass
    raise wrong_usage(f"{part!r}; must be resources and numbers, as in core=4,gpu=2.", option)


def amounts(text: str, option: str) -> dict[str, int]:
    """Parse ``core=4,gpu=2``: like `numbers`, but whole numbers only."""
    found = numbers(text, option)
    for name, number in found.items():
        if not number.is_integer():
            raise wrong_usage(f"{name}={number:g}; must be a whole number.", option)
    return {name: int(number) for name, number in found.items()}
