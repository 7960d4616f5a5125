"""How Sphinx builds the site; `scripts/documentation.py` puts its sources together and runs it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from batchlab import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_NOTE, _MARK = re.compile(r"^\.\. \[(\d+)\]"), re.compile(r"\[(\d+)\]_")

project = "batchlab"
author = "The batchlab founders"
copyright = author  # noqa: A001  # the name that Sphinx reads
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
# Pages are Markdown that is read on GitHub too: anchors are the slugs that GitHub makes of headings.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "colon_fence"]
# A word in single quotes in a docstring is a name of Python, or set as code.
default_role = "py:obj"

suppress_warnings = [
    "misc.highlighting_failure",  # what commands print is no language
    "ref.python",  # a type in a signature is named without its module, and several modules may have one
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
# The signatures of readers of logs are not in their source, so that values stand in the reference.
autodoc_preserve_defaults = False
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"batchlab {__version__}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "source_repository": "https://github.com/batchlab/batchlab/",
    "source_branch": "main",
    "source_directory": "docs/",
}


def setup(app: Sphinx) -> None:
    """Prepare docstrings for pages that hold many of them."""
    app.connect("autodoc-process-docstring", _prepare)


def _prepare(
    _app: Sphinx, _kind: str, _name: str, _value: object, _options: object, lines: list[str]
) -> None:
    # A page cannot have two notes of the same number: they stand as lines of text.
    lines[:] = [_MARK.sub(r"[\1]", _NOTE.sub(r"| [\1]", line)) for line in lines]
