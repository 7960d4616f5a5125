"""Build the documentation as a site: `python scripts/documentation.py`. Warnings are errors.

The sources are docs/ as it is, the examples, and the docstrings of every public name. They are put together
in target/site/source, where only what has changed is written, so a second build takes seconds; the pages are
in target/site/html.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from sphinx.util.inventory import InventoryFile

import documentation_gallery
import documentation_reference

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "target/site"
SOURCE, PAGES = TARGET / "source", TARGET / "html"
_REPOSITORY = "https://github.com/batchlab/batchlab"

# Where pages of the site stand for what the pages of the repository link to.
_STAND_INS = {
    "src/batchlab/__init__.pyi": f"{documentation_reference.FOLDER}/index.md",
    "examples": f"{documentation_gallery.FOLDER}/index.md",
}
_OUTSIDE = re.compile(r"\]\((?:\.\./)+((?!pictures/)[^)#\s]+)(#[^)\s]*)?\)")
_LINK = re.compile(r"\]\(([^)#:\s]+)\.md\)")


def sources() -> dict[str, bytes]:
    """Give every file that the site is built from, by its path."""
    docs = ROOT / "docs"
    found = {str(path.relative_to(docs)): path.read_bytes() for path in docs.rglob("*.*") if path.is_file()}
    for name in [name for name in found if name.endswith(".md")]:
        text = with_links_of_the_site(found[name].decode(), name)
        found[name] = (with_contents(text) if name == "index.md" else text).encode()
    for example in documentation_gallery.examples():
        found[f"{documentation_gallery.FOLDER}/{example.name}.md"] = example.text.encode()
    found[f"{documentation_gallery.FOLDER}/index.md"] = documentation_gallery.index().encode()
    return found | {
        f"{documentation_reference.FOLDER}/{name}": text.encode() for name, text in _reference().items()
    }


def with_links_of_the_site(text: str, name: str) -> str:
    """Lead links out of docs to the page of the site that stands for them, or to the repository."""
    up = "../" * name.count("/")

    def address(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        if path.endswith(".md") and (ROOT / "docs" / path).exists():
            return match[0]
        example = re.fullmatch(r"examples/(\w+)\.py", path)
        inside = f"{documentation_gallery.FOLDER}/{example[1]}.md" if example else _STAND_INS.get(path)
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({up}{inside})" if inside else f"]({_REPOSITORY}/{kind}/main/{path}{anchor})"

    return _OUTSIDE.sub(address, text)


def with_contents(text: str) -> str:
    """Add to each part of the map a table of contents of the pages that it links to."""
    seen: set[str] = set()
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    for number, part in enumerate(parts[1:], 1):
        new = [page for page in dict.fromkeys(_LINK.findall(part)) if page not in seen]
        seen.update(new)
        title = part.partition("\n")[0].removeprefix("## ")
        if new:
            listed = "\n".join(new)
            parts[number] = (
                f"{part.rstrip()}\n\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n\n"
            )
    return "".join(parts)


def _reference() -> dict[str, str]:
    pages = documentation_reference.pages()
    rows = "\n".join(f"- [{page.title}]({page.file}): {page.about}" for page in pages)
    listed = "\n".join(page.file for page in pages)
    about = "Every public name, from its docstring; each stands once, under the shortest name that it has."
    index = f"# Reference of the package\n\n{about}\n\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    return {"index.md": index} | {page.file: page.text for page in pages}


def gather() -> None:
    """Put the sources together; what is as it was is left alone, what is no longer there is removed."""
    found = sources()
    for path in [path for path in SOURCE.rglob("*") if path.is_file()]:
        if str(path.relative_to(SOURCE)) not in found:
            path.unlink()
    for name, content in found.items():
        path = SOURCE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def undocumented() -> list[str]:
    """Give the public names that the built site has no entry for."""
    with (PAGES / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: base + path)
    entries = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    return sorted(set(documentation_reference.public_names()) - entries)


def main() -> int:
    """Build, and count what is documented."""
    gather()
    shutil.rmtree(PAGES, ignore_errors=True)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--doctree-dir", str(TARGET / "doctrees")]
    command = [sys.executable, "-m", "sphinx", "-b", "html", *options, str(SOURCE), str(PAGES)]
    code = subprocess.run(command, check=False).returncode
    if code:
        return code
    missing = undocumented()
    if missing:
        print(f"Not in the reference: {', '.join(missing)}")
        return 1
    names, pages = len(documentation_reference.public_names()), len([*PAGES.rglob("*.html")])
    print(f"{PAGES.relative_to(ROOT)}/index.html: {pages} pages, {names} public names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
