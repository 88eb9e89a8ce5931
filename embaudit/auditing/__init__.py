"""The audit of a model: what was measured, what follows from it, and how far."""

from embaudit.auditing.audit import Audit, audit
from embaudit.auditing.heads import HeadReport, head_report
from embaudit.auditing.options import AuditOptions

__all__ = ["Audit", "AuditOptions", "HeadReport", "audit", "head_report"]
