"""The audit of a model: what was measured, what follows from it, and how far."""

from embaudit.auditing.audit import Audit, audit
from embaudit.auditing.head_report import HeadReport, head_report
from embaudit.auditing.proof.proof import Proof, verify

__all__ = ["Audit", "HeadReport", "Proof", "audit", "head_report", "verify"]
