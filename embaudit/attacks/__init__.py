"""Attacks: concrete gauges within a budget that move cosines, or neighbour lists, as far as a search can find."""

from embaudit.attacks.worst import Attack, worst_gauge

__all__ = ["Attack", "worst_gauge"]
