"""Audit embedding similarity.

How far can cosines move while every prediction stays the same?
"""

from typing import TYPE_CHECKING

import lazy_loader

from embaudit.core.results import set_renderer

if TYPE_CHECKING:
    from embaudit.core.results import Renderer


def _import_renderer() -> "Renderer":
    """Import the subpackage that draws results and writes their pages."""
    from embaudit.report import renderer

    return renderer


# `__init__.pyi` lists the public names. Each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# Results do not import the report, which stands above them. They ask for it here.
set_renderer(_import_renderer)
