"""How Sphinx builds the documentation: `make docs`; every warning is an error."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from docutils.nodes import SkipNode
from numpydoc.docscrape import NumpyDocString

from embaudit import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docutils.nodes import math, math_block
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent / "notebooks"
GALLERY = HERE / "gallery"

project = "embaudit"
author = "The embaudit developers"
version = release = __version__
html_title = "embaudit"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
nitpicky = True
# Types in the prose of docstrings are words for people, no cross references; the same
# words stand in signatures.
autodoc_typehints = "none"
numpydoc_xref_param_type = False
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
# What scikit-learn adds to estimators refers to its own pages.
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_inverse_transform_request, set_transform_request"
}
autosummary_generate = True
autosummary_ignore_module_all = False

myst_enable_extensions = ["colon_fence", "dollarmath", "amsmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["embaudit.css"]
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 5,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {
    "*": [],
    "gallery/*": ["sidebar-nav-bs"],
    "generated/*": ["sidebar-nav-bs"],
}
html_show_sourcelink = False
copyright = "The embaudit developers, BSD-3-Clause"  # noqa: A001 (the name that Sphinx reads)
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True


def link_notebooks(_app: Sphinx) -> None:
    """Put the notebooks of the repository where Sphinx finds pages, each with its first picture for the gallery.

    Only those that changed are executed anew.
    """
    GALLERY.mkdir(exist_ok=True)
    wanted = {path.name: path for path in NOTEBOOKS.glob("*.ipynb")}
    for name, path in wanted.items():
        if (
            not (GALLERY / name).exists()
            or (GALLERY / name).read_bytes() != path.read_bytes()
        ):
            shutil.copyfile(path, GALLERY / name)
        for picture in islice(pictures(path), 1):
            (GALLERY / name).with_suffix(".png").write_bytes(picture)
    for gone in {path.name for path in GALLERY.glob("*.ipynb")} - set(wanted):
        (GALLERY / gone).unlink()


def pictures(notebook: Path) -> Iterator[bytes]:
    """Yield the pictures that a notebook was stored with."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                yield b64decode(output["data"]["image/png"])


def write_mathml(writer: HTML5Translator, node: math | math_block) -> None:
    """Write a formula as browsers read it: no script and no network."""
    from docutils.utils.math.latex2mathml import tex2mathml

    writer.body.append(tex2mathml(node.astext(), as_block=node.tagname == "math_block"))
    raise SkipNode


NumpyDocString.sections["Columns"] = ""
"""Make numpydoc accept this section; `show_columns` shows it."""


def show_columns(
    _app: Sphinx,
    _what: str,
    _name: str,
    _thing: object,
    _options: object,
    lines: list[str],
) -> None:
    """Show the section Columns of a docstring, which numpydoc does not write, as notes."""
    for place, line in enumerate(lines[:-1]):
        if line == "Columns" and set(lines[place + 1]) == {"-"}:
            lines[place] = "Notes"
            lines[place + 1] = "-----"
            lines.insert(place + 2, "The columns are:")
            lines.insert(place + 3, "")
            return


def setup(app: Sphinx) -> None:
    """Register how formulas are written, and what happens before pages are read."""
    app.add_html_math_renderer("mathml", (write_mathml, None), (write_mathml, None))
    app.connect("builder-inited", link_notebooks)
    # numpydoc reads docstrings at the default priority, 500.
    app.connect("autodoc-process-docstring", show_columns, priority=400)
