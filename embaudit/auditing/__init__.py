"""The audit of a model: what was measured, what follows from it, and how far."""

from embaudit.auditing.audit import Audit, audit
from embaudit.auditing.head_evidence import HeadReport
from embaudit.auditing.heads import head_report

__all__ = ["Audit", "HeadReport", "audit", "head_report"]
