"""Run what pages and notebooks show, in this Python and folder: `python scripts/snippets.py PAGE…`.

What a notebook prints must be what it has. Of a page of Markdown the code and the commands must run; what
they print may differ, since the logs at hand may be shorter than those of the page. Only batchlab is needed.
"""

from __future__ import annotations

import ast
import doctest
import io
import json
import re
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"(<!-- not run: .* -->\n)?^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)

Names = dict[str, Any]


def run(path: Path) -> None:
    """Run the code of a page or a notebook, in order."""
    names: Names = {"__name__": "__main__"}
    if path.suffix == ".ipynb":
        run_notebook(path, names)
        return
    for marked, language, text in _BLOCK.findall(path.read_text("utf-8")):
        if language == "console" and not marked:
            for command in _COMMAND.findall(text):
                print(f"$ {command}", flush=True)
                subprocess.run(["bash", "-c", command], check=True)
        elif not marked:
            _execute("".join(each.source for each in doctest.DocTestParser().get_examples(text)), names)


def run_notebook(path: Path, names: Names) -> None:
    """Run the cells of a notebook, and stop at one that prints something else than it has.

    Parameters
    ----------
    path
        The notebook.
    names
        The names that its code has and makes.

    Raises
    ------
    SystemExit
        What a cell prints is not what it has.
    """
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        # Lines that begin with % are for notebooks alone.
        source = "".join(line for line in cell["source"] if not line.startswith("%"))
        shown = "".join("".join(_text(output)) for output in cell["outputs"])
        printed = _execute(source, names)
        if shown and shown.rstrip() != printed.rstrip():
            sys.exit(f"{path.name}: this cell prints something else:\n{source}\n\n{printed}")


def _text(output: dict[str, Any]) -> list[str]:
    lines: list[str] = output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
    return lines


def _execute(source: str, names: Names) -> str:
    """Run a cell, and give what it prints and the value of its last expression, as notebooks show them."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements.append(last)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.Module(statements, []), "cell", "exec"), names)  # noqa: S102  # our own pages
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307  # likewise
            print("" if value is None else repr(value))
    return printed.getvalue()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        began = time.perf_counter()
        run(Path(name))
        print(f"{Path(name).name}: {time.perf_counter() - began:.1f} s", flush=True)
