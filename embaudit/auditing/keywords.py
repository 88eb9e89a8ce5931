"""Keywords of `embaudit.audit`, for type checkers."""

from __future__ import annotations

from embaudit.auditing.options import OptionKeywords
from embaudit.io.options import LoadKeywords


class AuditKeywords(LoadKeywords, OptionKeywords, total=False):
    """Keywords of `embaudit.audit`: options of the audit and options of `load`."""
