"""Counts over the sources: lines, functions, public items, words, imports. For `house.py`."""

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

__all__ = ["Function", "Source", "blanked", "imported_parts", "read_python", "read_rust", "rust_parts_used"]

# Comments, strings and characters of Rust: what may hold braces and words that are no code.
_OPAQUE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | \bb?r(?P<hashes>\#*)".*?"(?P=hashes) | (?:\bb)?"(?:\\.|[^"\\])*"
    | '(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'""",
    re.DOTALL | re.VERBOSE,
)
_FUNCTION = re.compile(r"\bfn\s+(\w+)")
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\s+)?mod\s+\w+\s*(?=\{)")
_PUBLIC = re.compile(
    r"^[ \t]*pub(?P<scope>\s*\([^)]*\))?\s+(?:async\s+|unsafe\s+|const\s+(?=fn))*"
    r"(?:(?P<item>fn|struct|enum|trait|type|const|static|mod|use|union)\b|(?P<field>\w+)\s*:(?!:))",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Function:
    """A function and the number of its lines, of Python without the docstring."""

    name: str
    line: int
    lines: int


@dataclass
class Source:
    """A file or the test part of one: its lines, those that are code, functions, literals, declared names.

    `public` counts Rust's public items by kind; ``crate`` those of restricted visibility.
    """

    path: Path
    part: str
    lines: int = 0
    code: int = 0
    functions: list[Function] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    public: dict[str, int] = field(default_factory=dict)


def blanked(text: str) -> tuple[str, str, list[tuple[int, str]]]:
    """Blank out what is not Rust code.

    Returns
    -------
    tuple
        The text without comments, strings and characters; the text without comments; and the strings with
        their places. Places are those of the original.
    """
    plain, uncommented, strings = [], [], []
    last = 0
    for match in _OPAQUE.finditer(text):
        found = match[0]
        gap = text[last : match.start()]
        spaces = re.sub(r"[^\n]", " ", found)
        comment = found.startswith(("//", "/*"))
        plain += [gap, spaces]
        uncommented += [gap, spaces if comment else found]
        if not comment and '"' in found[:4] and not found.startswith("'"):
            strings.append((match.start(), found[found.index('"') + 1 : found.rindex('"')]))
        last = match.end()
    return "".join([*plain, text[last:]]), "".join([*uncommented, text[last:]]), strings


def read_rust(path: Path, part: str, tests: str) -> Iterator[Source]:
    """Count a Rust file: what is code, and what stands under ``#[cfg(test)]``."""
    text = path.read_text("utf-8")
    plain, uncommented, strings = blanked(text)
    spans = [(match.start(), _closing(plain, match.end()) + 1) for match in _TEST_MODULE.finditer(plain)]
    whole = path.name == "tests.rs" or not {"tests", "benches"}.isdisjoint(path.parts)
    if whole:
        spans = [(0, len(text))]
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    sources = {part: Source(path, part), tests: Source(path, tests)}

    def of(place: int) -> Source:
        return sources[tests if any(begin <= place < end for begin, end in spans) else part]

    for place, line in zip(starts, uncommented.split("\n")[: len(text.splitlines())], strict=False):
        of(place).lines += 1
        of(place).code += bool(line.strip())
    for place, string in strings:
        of(place).literals.append(string)
    for match in _FUNCTION.finditer(plain):
        end = _body(plain, match.end())
        if end is not None:
            first, last = bisect_right(starts, match.start()), bisect_right(starts, end)
            of(match.start()).functions.append(Function(match[1], first, last - first + 1))
        of(match.start()).declared += _parameters(plain, match.end())
    _count_public(plain, of)
    yield from (source for source in sources.values() if source.lines)


def _count_public(plain: str, of: Callable[[int], Source]) -> None:
    """Count what is public, by kind, in the source that `of` gives for its place."""
    for match in _PUBLIC.finditer(plain):
        source = of(match.start())
        kind = "crate" if match["scope"] else (match["item"] or "field")
        source.public[kind] = source.public.get(kind, 0) + 1
        if match["field"]:
            source.declared.append(match["field"])


def _parameters(plain: str, place: int) -> list[str]:
    """Give the names of a function's parameters."""
    opening = plain.find("(", place)
    depth = 0
    for index in range(opening, len(plain)):
        depth += (plain[index] == "(") - (plain[index] == ")")
        if depth == 0:
            return re.findall(r"\b(\w+)\s*:(?!:)", plain[opening:index])
    return []


def _body(plain: str, place: int) -> int | None:
    """Give where the body of a function closes; None where it has none."""
    depth = 0
    for index in range(place, len(plain)):
        sign = plain[index]
        depth += (sign in "([") - (sign in ")]")
        if depth == 0 and sign == ";":
            return None
        if depth == 0 and sign == "{":
            return _closing(plain, index)
    return None


def _closing(plain: str, opening: int) -> int:
    """Give where the brace closes that opens at a place."""
    depth = 0
    for index in range(opening, len(plain)):
        depth += (plain[index] == "{") - (plain[index] == "}")
        if depth == 0:
            return index
    return len(plain)


def read_python(path: Path, part: str) -> Source:
    """Count a Python file."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    source = Source(path, part, lines=len(text.splitlines()))
    prose: set[int] = set()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            source.literals.append(node.value)
        elif isinstance(node, ast.arg):
            source.declared.append(node.arg)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            source.declared.append(node.target.id)
        if isinstance(node, documented[2:]):
            source.functions.append(_python_function(node))
    lines = enumerate(text.splitlines(), start=1)
    source.code = sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in prose
        for number, line in lines
    )
    return source


def _python_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    first, last = node.lineno, node.end_lineno or node.lineno
    document = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
    inside = 0 if document is None else (document.end_lineno or 0) - document.lineno + 1
    return Function(node.name, first, last - first + 1 - inside)


def rust_parts_used(text: str) -> set[str]:
    """Give the modules at the top of the crate that a file's text uses."""
    plain, _, _ = blanked(text)
    lists = re.findall(r"\bcrate::\{([^;]*)\}", plain)
    inside = [name for names in lists for name in re.findall(r"(?:^|,)\s*(\w+)", names)]
    return {*re.findall(r"\bcrate::(\w+)", plain), *inside}


def imported_parts(text: str) -> set[str]:
    """Give the parts of the package that a module's text imports when it runs."""
    names = [name for name in _imports(ast.parse(text)) if name.partition(".")[0] == "batchlab"]
    return {name.split(".")[1] for name in names if "." in name}


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from _imports(node)


def count_terms(
    sources: list[Source], terms: Mapping[str, tuple[str, ...]]
) -> dict[str, dict[str, tuple[int, int]]]:
    """Count for each word the places where a string is that word, and the files.

    Of options the parameters and fields of that name count too.
    """
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for kind, words in terms.items():
        found[kind] = {}
        for word in words:
            counts = [
                source.literals.count(word) + (source.declared.count(word) if kind == "options" else 0)
                for source in sources
            ]
            found[kind][word] = sum(counts), sum(1 for count in counts if count)
    return found
