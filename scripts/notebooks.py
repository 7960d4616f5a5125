"""Make the notebooks of the tutorials from their pages: `python scripts/notebooks.py`.

Each page of docs/tutorials has a notebook with the same text, code and outputs. The page is the source.
"""

from __future__ import annotations

import ast
import doctest
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs/tutorials"
ADDRESS = "https://github.com/batchlab/batchlab/blob/main"

Cell = dict[str, Any]

_CODE = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_REMARK = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_PICTURE = re.compile(r"^!\[.*\]\(.*\)$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
# A command to notebooks, which are to show figures; it is not Python.
_FIGURES = "%matplotlib inline"


def pages() -> list[Path]:
    """Give the pages that have notebooks."""
    return sorted(TUTORIALS.glob("*.md"))


def notebook(page: Path) -> str:
    """Give the notebook of a page, as the text of its file."""
    cells = [*_cells(page)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _cells(page: Path) -> Iterator[Cell]:
    text = page.read_text("utf-8")
    shows_figures = _PICTURE.search(text) is not None
    for place, part in enumerate(_CODE.split(text)):
        if not place % 2:
            yield from _prose(part, page)
            continue
        code = [*_code(part)]
        if shows_figures:
            code[0]["source"] = [f"{_FIGURES}\n", *code[0]["source"]]
            shows_figures = False
        yield from code


def _prose(text: str, page: Path) -> Iterator[Cell]:
    """Give text as cells; where the page has a picture, the notebook has the figure itself."""
    absolute = _LINK.sub(lambda link: f"]({_address(page, link[1])}", _REMARK.sub("", text))
    for place, part in enumerate(_PICTURE.split(absolute)):
        if place:
            yield _code_cell("ax.figure", [])
        if part.strip():
            yield {"cell_type": "markdown", "metadata": {}, "source": _lines(part)}


def _address(page: Path, link: str) -> str:
    target = Path(os.path.normpath(page.parent / link))
    return f"{ADDRESS}/{target.relative_to(ROOT).as_posix()}"


def _code(text: str) -> Iterator[Cell]:
    """Give examples as cells, each of which ends where something is shown."""
    sources: list[str] = []
    for example in doctest.DocTestParser().get_examples(text):
        apart = "\n" if example.source.startswith(("def ", "class ")) else ""
        sources.append(f"{apart}{example.source}{apart}")
        if example.want:
            yield _code_cell("".join(sources), [_output(example)])
            sources = []
    if sources:
        yield _code_cell("".join(sources), [])


def _code_cell(source: str, outputs: list[Cell]) -> Cell:
    code = {"execution_count": None, "outputs": outputs, "source": _lines(source)}
    return {"cell_type": "code", "metadata": {}, **code}


def _output(example: doctest.Example) -> Cell:
    (statement,) = ast.parse(example.source).body
    if isinstance(statement, ast.Expr) and not example.source.startswith("print("):
        result = {"data": {"text/plain": _lines(example.want)}, "execution_count": None}
        return {"metadata": {}, "output_type": "execute_result", **result}
    return {"name": "stdout", "output_type": "stream", "text": example.want.splitlines(keepends=True)}


def _lines(text: str) -> list[str]:
    return text.strip("\n").splitlines(keepends=True)


def main() -> None:
    """Write every notebook."""
    for page in pages():
        target = page.with_suffix(".ipynb")
        target.write_text(notebook(page), "utf-8")
        print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
