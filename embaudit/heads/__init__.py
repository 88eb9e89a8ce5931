"""The audit of a softmax head: what its label cosines can mean."""

from embaudit.heads.guards import Guard
from embaudit.heads.panel import probe_inputs
from embaudit.heads.report import HeadReport, head_report

__all__ = ["Guard", "HeadReport", "head_report", "probe_inputs"]
