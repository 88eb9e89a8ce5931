"""How Sphinx builds the documentation: `make docs`; every warning is an error."""

from __future__ import annotations

import inspect
import json
import shutil
from base64 import b64decode
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpydoc.validate
from docutils.nodes import SkipNode
from numpydoc.docscrape import NumpyDocString, get_doc_object
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.logging import getLogger

from embaudit import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docutils.nodes import math, math_block
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent / "notebooks"
GALLERY = HERE / "gallery"
LOG = getLogger(__name__)

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
# Names and formulas in single backticks are code, with straight quotes.
default_role = "code"
# Types in the prose of docstrings are words for people, no cross references; the same
# words stand in signatures.
autodoc_typehints = "none"
numpydoc_xref_param_type = False
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
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
# Sphinx reads this name.
copyright = "The embaudit developers, BSD-3-Clause"  # noqa: A001
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True


def link_notebooks(_app: Sphinx) -> None:
    """Put notebooks where Sphinx finds pages, with first pictures for the gallery.

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
place = numpydoc.validate.ALLOWED_SECTIONS.index("Raises")
numpydoc.validate.ALLOWED_SECTIONS.insert(place, "Columns")


def show_columns(
    _app: Sphinx,
    _what: str,
    _name: str,
    _thing: object,
    _options: object,
    lines: list[str],
) -> None:
    """Show the section Columns of a docstring as notes because numpydoc omits it."""
    for place, line in enumerate(lines[:-1]):
        if line == "Columns" and set(lines[place + 1]) == {"-"}:
            lines[place] = "Notes"
            lines[place + 1] = "-----"
            lines.insert(place + 2, "The columns are:")
            lines.insert(place + 3, "")
            return


CHECKS = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10"),
    *("SS01", "SS02", "SS04", "SS05", "SS06"),
    *("PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR09", "PR10"),
    *("RT03", "RT04", "RT05", "SA02", "SA03", "SA04"),
}
"""Checks of numpydoc for every docstring; its documentation lists the codes.

GL concerns the docstring as a whole, SS its first sentence, PR parameters, RT returned
values, SA references and EX examples.
"""
CHECKS_OF = {
    "function": CHECKS | {"PR01", "RT01", "EX01"},
    "class": CHECKS | {"EX01"},
    "exception": CHECKS | {"EX01"},
    "method": CHECKS,
    "property": CHECKS,
}
"""Checks of each kind of object.

A method needs no section if its first sentence says everything. Fields of a class are
not here, because numpydoc would check the docstrings of their default values.
"""
SKIPPED = {"embaudit.audit": {"PR01", "PR02"}}
"""The signature of `audit` lists the options of AuditOptions and of `load` one by one,
and its docstring refers to both."""


def validate(
    _app: Sphinx,
    what: str,
    name: str,
    thing: object,
    _options: object,
    lines: list[str],
) -> None:
    """Warn of each rule that a docstring of the API breaks, so that the build fails."""
    if what == "attribute" and not any(lines):
        LOG.warning("%s: the field does not have a docstring", name)
    if what not in CHECKS_OF:
        return
    documented = get_doc_object(thing)
    for code, message in numpydoc.validate.validate(documented)["errors"]:
        if code in CHECKS_OF[what] - SKIPPED.get(name, set()):
            LOG.warning("%s: %s: %s", name, code, message)


def skip_other_libraries(
    _app: Sphinx,
    _what: str,
    _name: str,
    thing: object,
    skip: bool,
    _options: object,
) -> bool | None:
    """Skip methods that Python or scikit-learn adds to a class, such as `str.lower`."""
    if skip or not (callable(thing) or inspect.isdatadescriptor(thing)):
        return None
    function = getattr(thing, "fget", None) or getattr(thing, "__func__", thing)
    owner = getattr(function, "__objclass__", function)
    return not (getattr(owner, "__module__", None) or "").startswith("embaudit") or None


MADE_BY_USERS = ("embaudit.AuditOptions", "embaudit.reproduce.NetflixSetting")
"""Classes that users make, although their fields take the place of parameters."""


def hide_signatures_of_results(
    _app: Sphinx,
    what: str,
    name: str,
    thing: object,
    _options: object,
    _signature: str,
    _returned: str,
) -> tuple[str, None] | None:
    """Hide the signature of a class that only functions of the package make.

    Such a class describes its fields, and has no section on parameters.
    """
    if what != "class" or name in MADE_BY_USERS:
        return None
    if "Parameters\n" in (thing.__doc__ or ""):
        return None
    return "", None


DATA = {"embaudit.RESCALINGS": "embaudit.solvers.product_penalty"}
"""The module that documents each public constant."""


def document_data(
    _app: Sphinx,
    what: str,
    name: str,
    _thing: object,
    _options: object,
    lines: list[str],
) -> None:
    """Show the docstring of a constant, which stands in another module."""
    if what == "data":
        documented = ModuleAnalyzer.for_module(DATA[name]).find_attr_docs()
        lines[:] = documented["", name.rpartition(".")[-1]]


def setup(app: Sphinx) -> None:
    """Register how formulas are written, and what happens before pages are read."""
    app.add_html_math_renderer("mathml", (write_mathml, None), (write_mathml, None))
    app.connect("builder-inited", link_notebooks)
    # numpydoc reads docstrings at the default priority, 500.
    app.connect("autodoc-process-docstring", document_data, priority=300)
    app.connect("autodoc-process-docstring", validate, priority=300)
    app.connect("autodoc-process-docstring", show_columns, priority=400)
    app.connect("autodoc-skip-member", skip_other_libraries)
    # numpydoc reads signatures at the default priority, too, and the last word counts.
    app.connect("autodoc-process-signature", hide_signatures_of_results, priority=400)
