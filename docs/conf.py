"""The documentation as a site: pip install '.[docs]' && sphinx-build -W docs build/site."""

from __future__ import annotations

from importlib.metadata import version as installed_version

project = "RayDB"
copyright = "RayDB contributors"  # noqa: A001  (the name is Sphinx's)
version = release = installed_version("raydb")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = f"RayDB {release}"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# The records of decisions are found by links, not in the table of contents.
suppress_warnings = ["misc.highlighting_failure", "toc.not_included"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "literal"


def _literal_blocks(
    _app: object, _what: str, _name: str, _target: object, _options: object, lines: list[str]
) -> None:
    """Mark the indented blocks of a docstring, which are code here, as reStructuredText does."""
    marked: list[str] = []
    for line in lines:
        begins = line.startswith("    ") and marked and not marked[-1].strip()
        if begins and not next(filter(str.strip, reversed(marked)), "").startswith("    "):
            marked += ["::", ""]
        marked.append(line)
    lines[:] = marked


def setup(app: object) -> None:
    """Let Sphinx read docstrings as they are written here."""
    app.connect("autodoc-process-docstring", _literal_blocks)  # type: ignore[attr-defined]
