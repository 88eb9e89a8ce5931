"""A comparison in plain words: what changed, why, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embaudit.comparison.agreement import Agreement
    from embaudit.comparison.compare import Comparison
    from embaudit.model import Side

_GAUGES = {
    "diagonal": "One scale for each dimension",
    "linear": "A general linear change of the coordinates",
    "affine": "A general linear change of the coordinates with a shift",
}
STILL = 0.01
"""Mean change of cosines that nobody would notice."""


def explain(comparison: Comparison) -> str:
    """Say what changed between two models, why, and what to do next."""
    parts = [_predictions(comparison.agreement)]
    parts += [_side(comparison, role) for role in comparison.changes]
    parts += [_matching(comparison), _next(comparison)]
    return " ".join(part for part in parts if part)


def _predictions(found: Agreement | None) -> str:
    if found is None:
        return "Only one side is at hand, so what the models predict could not be compared."
    if found.same:
        return "The two models predict the same."
    text = (
        f"The two models predict alike to a correlation of {found.score_correlation:.3f} within a row, and share "
        f"{found.ranking_overlap:.0%} of their top {found.top_n}."
    )
    if found.kl_divergence is not None:
        text += f" KL divergence {found.kl_divergence:.2g}, distance of log-probability differences "
        text += f"{found.difference_distance:.2g} of their size. {found.kl_warning}"
    return text


def _side(comparison: Comparison, role: Side) -> str:
    change, title = comparison.changes[role], comparison.title(role)
    if change.mean_total < STILL:
        return f"The {title}s' cosines are the same to {change.mean_total:.2g}."
    shares = change.neighbour_shares
    lost = shares["lost_to_gauge"] + shares["lost_to_learning"]
    text = f"The {title}s' cosines differ by {change.mean_total:.2f} on average"
    if comparison.group == "rotation":
        text += ", and no gauge explains it better than a rotation, which no cosine sees."
    else:
        text += (
            f". {_GAUGES[comparison.group]} (condition number {comparison.condition_number:.3g}) moves them by "
            f"{change.mean_gauge:.2f}; {change.mean_remainder:.2f} remains, on {title}s that were not used to find it."
        )
    if lost > 0:
        text += (
            f" Of {change.n_neighbours} nearest {title}s, {lost:.0%} changed: {shares['lost_to_gauge']:.0%} because of "
            f"the gauge, {shares['lost_to_learning']:.0%} because the second model learned something else."
        )
    return text


def _matching(comparison: Comparison) -> str:
    missing = [
        f"{change.match.only_before:,} {comparison.title(role)}s only in the first model and "
        f"{change.match.only_after:,} only in the second were left out."
        for role, change in comparison.changes.items()
        if change.match.only_before or change.match.only_after
    ]
    if any(not change.match.by_ids for change in comparison.changes.values()):
        missing.append("Rows were matched by their order, since there are no ids.")
    return " ".join(missing)


def _next(comparison: Comparison) -> str:
    if comparison.explained and all(c.mean_total < STILL for c in comparison.changes.values()):
        return "Nothing to do: whoever used the one can use the other."
    if comparison.explained:
        return (
            "The models are the same up to that gauge: compare and index them by `embaudit fix MODEL --as prediction`, "
            "which gives both the same cosines."
        )
    return (
        "Compare models by prediction cosines (`embaudit fix MODEL --as prediction`): what still differs there was "
        "learned, and is not a matter of coordinates."
    )
