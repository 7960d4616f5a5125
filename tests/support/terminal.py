"""A terminal that keeps what is written to it."""

__all__ = ["Terminal"]


class Terminal:
    """Standard error that says it is a terminal."""

    def __init__(self) -> None:
        self.written = ""

    def write(self, text: str) -> int:
        self.written += text
        return len(text)

    def flush(self) -> None:
        """Do nothing: all is kept."""

    def isatty(self) -> bool:
        return True
