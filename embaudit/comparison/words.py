"""A comparison in plain words: what changed, why, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.foundation.words import counted, percent

if TYPE_CHECKING:
    from embaudit.comparison.agreement import Agreement
    from embaudit.comparison.change import RoleChange
    from embaudit.comparison.result import Comparison
    from embaudit.model import SideName

_GAUGES = {
    "rotation": "a rotation",
    "diagonal": "one scale for each dimension",
    "linear": "a general linear change of the coordinates",
    "affine": "a general linear change of the coordinates with a shift",
}
STILL = 0.01
"""Mean change of cosines that nobody would notice."""
SHOWN = 0.005
"""Least number that two digits show."""


def explain(comparison: Comparison) -> str:
    """Say what changed between two models, why, and what to do next."""
    parts = [_matching(comparison), _predictions(comparison)]
    parts += [_side(comparison, role) for role in comparison.changes]
    parts += [_next(comparison)]
    return " ".join(part for part in parts if part)


def _predictions(comparison: Comparison) -> str:
    found = comparison.agreement
    if found is None:
        return "Only one side is at hand, so what the models predict could not be compared."
    if found.same:
        return "The two models predict the same."
    text = ""
    if found.predicts[0] != found.predicts[1]:
        text = f"The first model predicts {found.predicts[0]}, the second {found.predicts[1]}. "
    text += f"Their scores correlate by {found.score_correlation:.3f} within a row, and "
    text += f"{percent(found.ranking_overlap)} of their top {found.top_n} are shared."
    return text + _divergence(found)


def _divergence(found: Agreement) -> str:
    if found.kl_divergence is None:
        return ""
    return (
        f" KL divergence {found.kl_divergence:.2g}, distance of log-probability differences "
        f"{found.difference_distance:.2g} of their size. {found.kl_warning}"
    )


def _side(comparison: Comparison, role: SideName) -> str:
    change, title = comparison.changes[role], comparison.title(role)
    if change.mean_total < STILL:
        size = "" if change.mean_total < 1e-6 else f" to {change.mean_total:.2g} on average"
        return f"The {title}s' cosines are the same{size}."
    start = f"The {title}s' cosines differ by {_mean(change, 'total', '95 %: ')} on average"
    return f"{start}{_parts(comparison, change, title)}.{_neighbours(comparison, change, title)}"


def _mean(change: RoleChange, name: str, label: str = "") -> str:
    """Tell a mean and its interval, unless two digits show none."""
    value, *ends = (f"{x:.2f}" for x in (getattr(change, f"mean_{name}"), *change.interval(name)))
    return value if set(ends) == {value} else f"{value} ({label}{' to '.join(ends)})"


def _parts(comparison: Comparison, change: RoleChange, title: str) -> str:
    known = comparison.agreement is not None
    parts = []
    if change.mean_gauge >= SHOWN:
        cause = f"{_GAUGES[comparison.group]} (condition number {comparison.condition_number:.3g})"
        parts.append(f"{_mean(change, 'gauge')} {'is' if known else 'could be'} the work of {cause}")
    if change.mean_unseen >= SHOWN:
        parts.append(f"{_mean(change, 'unseen')} comes from dimensions that no prediction sees")
    if not parts:
        return ", and no gauge explains it"
    if change.mean_remainder >= SHOWN:
        parts.append(f"{_mean(change, 'remainder')} remains, on {title}s that were not used to find it")
    return f". Of that, {'. '.join(parts)}"


def _neighbours(comparison: Comparison, change: RoleChange, title: str) -> str:
    known = comparison.agreement is not None
    same = comparison.agreement is not None and comparison.agreement.same
    reasons = {
        "lost_to_gauge": "because of the gauge" if known else "as a gauge could do",
        "lost_to_unseen": "because of dimensions that no prediction sees",
        "lost_to_learning": "because the second model learned something else" if known and not same else "otherwise",
    }
    shares = change.neighbour_shares
    lost = {reason: shares[name] for name, reason in reasons.items() if shares[name] > 0}
    if not lost:
        return ""
    start = f" Of {change.n_neighbours} nearest {title}s, {percent(1 - shares['kept'])} changed"
    if len(lost) == 1:
        (reason,) = lost
        return f"{start}{'' if reason == 'otherwise' else f', {reason}'}."
    return f"{start}: {', '.join(f'{percent(share)} {reason}' for reason, share in lost.items())}."


def _matching(comparison: Comparison) -> str:
    sides = comparison.changes.items()
    shared = [counted(len(change.match), comparison.title(role)) for role, change in sides]
    how = ["by their ids" if change.match.by_ids else "by the order of their rows" for _, change in sides]
    together = [" and ".join(shared)] if len(set(how)) == 1 else shared
    matched = ", and ".join(f"{what}, matched {by}" for what, by in zip(together, how, strict=False))
    left_out = [
        f"{change.match.only_before:,} {comparison.title(role)}s only in the first model and "
        f"{change.match.only_after:,} only in the second were left out."
        for role, change in sides
        if change.match.only_before or change.match.only_after
    ]
    return " ".join([f"Compared: {matched}.", *left_out])


def _next(comparison: Comparison) -> str:
    found, changes = comparison.agreement, comparison.changes.values()
    if found is None:
        return _one_sided(comparison)
    still = all(change.mean_total < STILL for change in changes)
    if found.same and still:
        return "Nothing to do: whoever used the one can use the other."
    if comparison.explained:
        unseen = any(change.mean_unseen >= SHOWN for change in changes)
        beside = " and dimensions that no prediction sees" if unseen else ""
        return (
            f"The models are the same up to that gauge{beside}: compare and index them by "
            f"`embaudit fix MODEL --as prediction`, which gives both the same cosines."
        )
    if found.same:
        return "No prediction asks for what differs in the cosines: compare what the models predict."
    if comparison.fits or still:
        what = "cosines agree" if still else "factors agree up to that gauge"
        return (
            f"Their {what} and their predictions do not: no cosine shows biases, an offset, lengths or what is made of "
            f"the scores. Compare what the models predict."
        )
    return (
        "Compare models by prediction cosines (`embaudit fix MODEL --as prediction`), which no gauge moves. What "
        "differs there was learned, and is not a matter of coordinates."
    )


def _one_sided(comparison: Comparison) -> str:
    (role,) = comparison.changes
    other = comparison.title("right" if role == "left" else "left")
    still = comparison.changes[role].mean_total < STILL
    what = "" if still or not comparison.fits else "All of the difference could be a gauge. "
    return (
        f"{what}Whether the models predict the same cannot be known from one side: load the {other} factors beside "
        f"these and compare again."
    )
