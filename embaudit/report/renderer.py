"""How results of every type are shown: as a page, in a notebook and as a picture.

`embaudit/__init__.py` gives this module to the results as their `Renderer`.
"""

from embaudit.report.page import fragment, page
from embaudit.report.pictures import display

__all__ = ["display", "fragment", "page"]
