"""Whatever README.md and the pages of docs show is run, in order, and must come out as shown.

In a document, ``python`` and ``pycon`` blocks share their names, and commands run in a folder of its own.
Before a block, a comment may say ``<!-- file: NAME -->`` (the block is that file), ``<!-- exit code: N -->``
or ``<!-- not run: REASON -->``. In shown output a line ``[…]`` stands for any lines.
"""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest

from batchlab.cli import main

ROOT = Path(__file__).parents[2]
LOGS = ROOT.parent / "shared/data"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The cells of a page's notebook are the page's own code.
RUN_AS_NOTEBOOKS = {path.with_suffix(".md") for path in (ROOT / "docs/tutorials").glob("*.ipynb")}
PAGES = [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
LANGUAGES = {"python", "pycon", "console", "toml", "json", "text", "sh", "xml"}

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (file|exit code|not run): (.*) -->\n+\Z")
# The project's own files, as the page of a package names them, which stands alone.
_REPOSITORY = re.compile(
    r"https://(?:github\.com|raw\.githubusercontent\.com)/batchlab/batchlab/(?:blob/)?main/"
)
# What needs a shell; and files of Python, which stay loaded in a process.
_SHELL = re.compile(r"[|;&<>$`*~\\]|\.py\b")
_LOG = re.compile(r"[\w.-]+-cln\.swf\.gz")
# How long a run takes, and in how much memory, is another matter every time.
_VARYING = re.compile(r"^(simulated in|memory) .*$", re.MULTILINE)


@dataclass
class Block:
    """A fenced block, where its content stands in the document, and what the comment before it says."""

    language: str
    text: str
    start: int
    line: int
    marks: dict[str, str]


def blocks(text: str) -> Iterator[Block]:
    """Give the fenced blocks of a document."""
    for match in _BLOCK.finditer(text):
        mark = _MARK.search(text, 0, match.start())
        marks = {mark[1]: mark[2]} if mark else {}
        yield Block(match[1], match[2], match.start(2), text.count("\n", 0, match.start()) + 1, marks)


@dataclass
class Session:
    """One document, as a reader would work through it in a folder of his own."""

    document: Path
    folder: Path
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__main__"})
    missing: set[str] = field(default_factory=set)
    python_stopped: bool = False
    commands: dict[str, str] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        """Do what a block shows."""
        if "not run" in block.marks:
            return
        if name := block.marks.get("file"):
            (self.folder / name).write_text(block.text, "utf-8")
            return
        absent = {name for name in _LOG.findall(block.text) if not (self.folder / name).exists()}
        self.missing |= absent
        if block.language == "console" and not absent:
            self._console(block)
        elif block.language in {"python", "pycon"}:
            # What follows a block that could not run may need its names.
            self.python_stopped |= bool(absent)
            if not self.python_stopped:
                self._python(block)

    def _python(self, block: Block) -> None:
        where = f"{self.document.name}:{block.line}"
        if block.language == "python":
            exec(compile("\n" * block.line + block.text, where, "exec"), self.names)  # noqa: S102  # our own
            return
        test = doctest.DocTestParser().get_doctest(block.text, {}, where, str(self.document), block.line)
        test.globs = self.names
        said: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append, clear_globs=False)
        assert not said, "".join(said)

    def _console(self, block: Block) -> None:
        for command, shown in commands(block.text):
            is_plain = command.startswith("batchlab ") and not _SHELL.search(command)
            code, output = self._here(command) if is_plain else self._shell(command)
            self.commands[command] = output
            assert code == int(block.marks.get("exit code", 0)), f"{command}\n{output}"
            if not os.environ.get("UPDATE_DOCUMENTATION"):
                where = f"{self.document.name}:{block.line}: {command}"
                assert agrees(shown, output), f"{where} says otherwise now:\n{output}"

    def _own_places(self) -> dict[str, str]:
        """Keep the logs and runs of the documents apart from those of the user who runs the tests."""
        return {
            "BATCHLAB_CACHE": str(self.folder / "cache"),
            "BATCHLAB_RUNTIME": str(self.folder / "runtime"),
        }

    def _environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {**self._own_places(), "PATH": path, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}

    def _here(self, command: str) -> tuple[int, str]:
        """Do a command of batchlab without a process, which would import everything anew."""
        output = io.StringIO()
        with patch.dict(os.environ, self._environment()), redirect_stdout(output), redirect_stderr(output):
            code = main(shlex.split(command)[1:])
        return code, output.getvalue()

    def _shell(self, command: str) -> tuple[int, str]:
        done = subprocess.run(  # noqa: S603  # our own documents
            ["bash", "-c", command],  # noqa: S607  # any bash will do
            cwd=self.folder,
            env={**os.environ, **self._environment()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Give each command of a console block, with the output that is shown for it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def agrees(shown: str, output: str) -> bool:
    """Tell whether an output is the one shown; nothing shown agrees with all."""
    if not shown.strip():
        return True
    expected = re.escape(_VARYING.sub(r"\1", shown.rstrip()))
    pattern = expected.replace(re.escape("[…]"), "[^\\n]*(?:\\n.*)?")
    return re.fullmatch(pattern, _VARYING.sub(r"\1", output.rstrip()), re.DOTALL) is not None


def updated(text: str, outputs: dict[str, str]) -> str:
    """Put the outputs that commands have now into a document, where it shows them whole."""
    for block in reversed([*blocks(text)]):
        if block.language != "console":
            continue
        new = ""
        for command, shown in commands(block.text):
            output = outputs.get(command, shown)
            keep = not shown.strip() or "[…]" in shown or agrees(shown, output)
            new += f"$ {command}\n" + (
                shown if keep else output.rstrip() + "\n" * (1 + shown.endswith("\n\n"))
            )
        text = text[: block.start] + new + text[block.start + len(block.text) :]
    return text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder to work in, with the command on the path, and the logs that are here."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin/batchlab"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m batchlab "$@"\n')
    command.chmod(0o755)
    for log in LOGS.glob("*.swf.gz"):
        (tmp_path / log.name).symlink_to(log)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="the documents show the commands of a Unix shell")
@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if path not in RUN_AS_NOTEBOOKS], ids=lambda path: path.name
)
def test_document(document: Path, folder: Path) -> None:
    """Every snippet runs, and every output is the one that is shown."""
    session = Session(document, folder)
    text = document.read_text("utf-8")
    for block in blocks(text):
        session.run(block)
    if os.environ.get("UPDATE_DOCUMENTATION"):
        document.write_text(updated(text, session.commands), "utf-8")
    if session.missing:
        pytest.skip(f"some snippets need logs that are not here: {', '.join(sorted(session.missing))}")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_are_of_known_languages(document: Path) -> None:
    """No snippet escapes the tests by a language that they do not know."""
    text = document.read_text("utf-8")
    assert {block.language for block in blocks(text)} <= LANGUAGES
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len([*blocks(text)])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links within the project lead to files that exist, and to headings that they have."""
    text = page.read_text("utf-8")
    for link in re.findall(rf"\]\(((?:{_REPOSITORY.pattern}|(?!https?:))[^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        inside = _REPOSITORY.sub("", name)
        target = ROOT / inside if inside != name else page.parent / name if name else page
        assert target.exists(), f"{page.name}: no {link}"
        if anchor:
            headings = re.findall(r"^#+ +(.+)$", target.read_text("utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{page.name}: no heading for {link}"


def test_the_set_up_is_two_commands() -> None:
    """README.md sets up with one command, developers with another, which CI calls word for word."""
    readme = (ROOT / "README.md").read_text("utf-8")
    found = [block.text.splitlines() for block in blocks(readme) if block.language == "sh"]
    demonstration, tests = "python3 scripts/demo.py", "python3 scripts/test.py"
    assert len(found) == 1
    assert found[0][-2:] == [demonstration, "source .venv/bin/activate"]
    assert f"`{tests}`" in readme
    assert all((ROOT / command.split()[1]).exists() for command in (demonstration, tests))
    assert tests in (ROOT / ".ci/run").read_text("utf-8")


def test_outputs_are_compared() -> None:
    """Only times, memory and what is left out may differ from the output shown."""
    assert agrees("a 1\nsimulated in  0.1 s\n", "a 1\nsimulated in  3 s\n")
    assert agrees("a\n[…]\nz\n", "a\nb\nc\nz\n")
    assert not agrees("a 1\n", "a 2\n")


def test_outputs_are_updated_in_place() -> None:
    """An update changes outputs that differ and nothing else."""
    text = "Say:\n\n```console\n$ echo b\na\n\n$ true\n```\n\nEnd.\n"
    assert updated(text, {"echo b": "b\n", "true": ""}) == text.replace("\na\n", "\nb\n")
