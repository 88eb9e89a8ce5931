"""Attacks: gauges within a budget that a search finds to move cosines or lists most."""

from embaudit.attacks.worst import Attack, worst_gauge

__all__ = ["Attack", "worst_gauge"]
