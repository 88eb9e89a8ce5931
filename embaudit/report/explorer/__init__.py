"""The gauge explorer of a page: a few hundred rows that a reader moves between equal models, in the page itself."""

from embaudit.report.explorer.explorer import Explorer, explorer

__all__ = ["Explorer", "explorer"]
