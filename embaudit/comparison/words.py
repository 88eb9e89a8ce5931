"""A comparison in plain words: what changed, why, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.core.words import counted, percent

if TYPE_CHECKING:
    from embaudit.comparison.agreement import Agreement
    from embaudit.comparison.change import RoleChange
    from embaudit.comparison.matching import Match
    from embaudit.comparison.result import Comparison
    from embaudit.model import SideName

_GAUGES = {
    "rotation": "a rotation",
    "diagonal": "one scale for each dimension",
    "linear": "a general linear change of the coordinates",
    "affine": "a general linear change of the coordinates with a shift",
}
STILL = 0.01
"""Mean change of cosines below which they count as unchanged."""
LISTS = 0.05
"""Share of former neighbours that may go before a list counts as changed."""
SHOWN = 0.005
"""Least number that two digits show."""
UNRELATED = 0.1
"""Share of lists kept, and correlation of scores, up to which two models have nothing in common."""
USUAL = 0.8
"""The threshold that is carried over in a sentence."""


def statements(comparison: Comparison) -> tuple[str, ...]:
    """Describe the entities compared, the change and its reasons; the last sentence may name a next step."""
    parts = [_matching(comparison), _states(comparison), _predictions(comparison), _rounding(comparison)]
    for role in comparison.changes:
        parts += [_side(comparison, role), _displaced(comparison, role), _threshold(comparison, role)]
    parts += [_too_few(comparison), _predicted(comparison), _next(comparison)]
    return tuple(sentence for sentence in parts if sentence)


def _states(comparison: Comparison) -> str:
    """Describe the inputs that heads without any were given."""
    if comparison.agreement is None or not comparison.n_states:
        return ""
    count = f"{comparison.agreement.n_rows:,} random states"
    return f"Predictions are compared for {count}, each brought through the final norm before either head."


def _rounding(comparison: Comparison) -> str:
    """Name the model that is rounded, and whether that alone can make it of the other one."""
    rounded = comparison.rounded
    if rounded is None:
        return ""
    sides = [f"the {which} model" for which, kind in zip(("first", "second"), rounded.kinds, strict=True) if kind]
    names = " and ".join(dict.fromkeys(kind for kind in rounded.kinds if kind))
    start = f"{' and '.join(sides).capitalize()} {'is' if len(sides) == 1 else 'are'} rounded to {names}"
    if rounded.largest == 0:
        return f"{start}, which moved none of the numbers."
    folded = "Once the final norms are folded in, " if rounded.condition_number > 1 + STILL else ""
    if rounded.explains:
        far = f"{folded}no number is further than one step from its counterpart"
        return f"{start}. {far[0].upper()}{far[1:]}. So rounding can explain all that no gauge does."
    far = f"{folded}{percent(rounded.beyond)} of the numbers are further than one step from their counterparts"
    return f"{start}. {far}. So rounding alone does not explain the change."


def _predictions(comparison: Comparison) -> str:
    """Describe how far the predictions agree."""
    agreement = comparison.agreement
    if agreement is None:
        return "Only one side was loaded, so what the models predict could not be compared."
    if agreement.same:
        return "The two models predict the same."
    text = ""
    if agreement.predicts[0] != agreement.predicts[1]:
        text = f"The first model predicts {agreement.predicts[0]}, the second {agreement.predicts[1]}. "
    text += f"Their scores correlate by {agreement.score_correlation:.3f} within a row, and "
    text += f"{percent(agreement.ranking_overlap)} of their top {agreement.top_n} are shared."
    sides = zip(comparison.roles[-len(agreement.unlike) :], agreement.unlike, strict=True)
    unlike = [f"{percent(share)} of the {title}s" for title, share in sides if share >= SHOWN]
    text += f" Scores of {' and '.join(unlike)} correlate by less than 0.3." if unlike else ""
    return text + _divergence(agreement)


def _divergence(agreement: Agreement) -> str:
    if agreement.kl_divergence is None:
        return ""
    return (
        f" KL divergence {agreement.kl_divergence:.2g}, distance of log-probability differences "
        f"{agreement.difference_distance:.2g} of their size. {agreement.kl_warning}"
    )


def _side(comparison: Comparison, role: SideName) -> str:
    """Describe the change of one side's cosines and lists, after the rows that have no cosine."""
    change, title = comparison.changes[role], comparison.title(role)
    start, n_without = f"The {title}s' cosines", change.n_without_direction
    if n_without:
        rows = f"{n_without:,} of {counted(len(change.match), title)}"
        start = f"{rows} {'has' if n_without == 1 else 'have'} no direction in one of the models. The others' cosines"
    if change.mean_total < STILL:
        size = "" if change.mean_total < 1e-6 else f" to {change.mean_total:.2g} on average"
        lists = "" if _is_still(change) else _neighbours(comparison, change, title)
        return f"{start} are the same{size}.{lists}"
    start = f"{start} differ by {_mean(change, 'total', '95 %: ')} on average"
    return f"{start}{_parts(comparison, change, title)}.{_neighbours(comparison, change, title)}"


def _is_still(change: RoleChange) -> bool:
    """Check that neither the cosines nor the lists of a side changed so that anybody would notice."""
    return change.mean_total < STILL and change.neighbour_shares["kept"] > 1 - LISTS


def _mean(change: RoleChange, name: str, label: str = "") -> str:
    """Write a mean and its interval, unless two digits show none."""
    value, *ends = (f"{x:.2f}" for x in (getattr(change, f"mean_{name}"), *change.interval(name)))
    return value if set(ends) == {value} else f"{value} ({label}{' to '.join(ends)})"


def _parts(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Describe the parts of a mean change that a gauge and unseen dimensions explain, and the rest."""
    is_checked, is_unknown = comparison.agreement is not None, comparison.too_few_for > 0
    parts = []
    if change.mean_gauge >= SHOWN and not is_unknown:
        cause = f"{_GAUGES[comparison.group]} (condition number {comparison.condition_number:.3g})"
        parts.append(f"{_mean(change, 'gauge')} {'is' if is_checked else 'could be'} the work of {cause}")
    if change.mean_unseen >= SHOWN:
        parts.append(f"{_mean(change, 'unseen')} comes from dimensions that no prediction sees")
    if is_unknown and not parts:
        return ""
    if not parts:
        # Lists can change by less than two digits of a mean show.
        lists = change.neighbour_shares["lost_to_gauge"] > 0
        return f", of which a gauge explains less than {2 * SHOWN:.2f}" if lists else ", and no gauge explains it"
    if change.mean_remainder >= SHOWN and not is_unknown:
        parts.append(f"{_mean(change, 'remainder')} remains, on {title}s that were not used to find it")
    return f". Of that, {'. '.join(parts)}"


def _neighbours(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Describe the share of nearest neighbours that changed, by reason."""
    is_checked = comparison.agreement is not None
    reasons = {
        "lost_to_gauge": "because of the gauge" if is_checked else "as a gauge could do",
        "lost_to_unseen": "because of dimensions that no prediction sees",
        "lost_to_learning": "as rounding does" if _is_rounding(comparison) else "otherwise",
    }
    shares = change.neighbour_shares
    if comparison.too_few_for:
        shares |= {"lost_to_gauge": 0.0, "lost_to_learning": shares["lost_to_gauge"] + shares["lost_to_learning"]}
    lost = {reason: shares[name] for name, reason in reasons.items() if shares[name] > 0}
    if not lost:
        return ""
    start = f" Of {change.n_neighbours} nearest {title}s, {percent(1 - shares['kept'])} changed"
    if len(lost) == 1:
        (reason,) = lost
        return f"{start}{'' if reason == 'otherwise' else f', {reason}'}."
    return f"{start}: {', '.join(f'{percent(share)} {reason}' for reason, share in lost.items())}."


def _too_few(comparison: Comparison) -> str:
    """Describe why the part of a gauge cannot be told from these rows."""
    if not comparison.too_few_for:
        return ""
    rows = " and ".join(
        counted(len(change.match), comparison.title(role)) for role, change in comparison.changes.items()
    )
    dimensions = counted(comparison.too_few_for, "dimension")
    unknown = "How much of the change a gauge explains cannot be said"
    if comparison.can_be_any:
        start = f"These {rows} are too few for {dimensions}: some gauge turns either model into the other."
        return f"{start} {unknown} without the other side."
    start = f"These {rows} are too few, or too alike, for {dimensions}: a gauge of some says nothing about the others."
    return f"{start} {unknown} from them."


def _predicted(comparison: Comparison) -> str:
    """Set the lists by prediction cosine beside those by cosine, which a gauge moves."""
    shares = []
    for role, change in comparison.changes.items():
        if change.predicted_kept is None or (change.mean_total < STILL and change.predicted_kept == 1):
            continue
        low, high = change.interval("predicted_kept")
        ends = {percent(end) for end in (change.predicted_kept, low, high)}
        interval = "" if len(ends) == 1 else f" (95 %: {percent(1 - high)} to {percent(1 - low)})"
        lists = f"of {change.n_neighbours} nearest {comparison.title(role)}s"
        shares.append(f"{percent(1 - change.predicted_kept)} {lists}{interval}")
    return f"By prediction cosine, {' and '.join(shares)} changed." if shares else ""


def _displaced(comparison: Comparison, role: SideName) -> str:
    """Name ids and vectors that were mixed up, or look as if they were."""
    change, title, scores = comparison.changes[role], comparison.title(role), comparison.agreement
    count, n = change.n_displaced, len(change.match)
    by = "name" if change.match.by_names else "id" if change.match.by_ids else "row number"
    if count:
        return (
            f"{count:,} of {n:,} {title}s now have the vector that another {title} had: check that ids fit their rows."
        )
    lists = max(change.neighbour_shares["kept"], change.predicted_kept or 0.0)
    # Of few rows, chance alone keeps some in a list.
    chance = change.n_neighbours / n
    if lists > UNRELATED + chance or scores is None or abs(scores.score_correlation) > UNRELATED:
        return ""
    return (
        f"Same {by}s, other vectors: {percent(1 - lists)} of the nearest {title}s changed, and scores correlate by "
        f"{scores.score_correlation:.2f}. Check that {by}s fit their rows in both models."
    )


def _threshold(comparison: Comparison, role: SideName) -> str:
    """Carry one threshold over; the table has all."""
    change, title = comparison.changes[role], comparison.title(role)
    moved = [threshold for threshold in change.thresholds if abs(threshold.after - threshold.before) >= STILL]
    if not moved or change.mean_total < STILL:
        return ""
    usual = min(moved, key=lambda threshold: abs(threshold.before - USUAL))
    return f"For {title}-{title} cosines, {usual}: the same share of pairs ({percent(usual.share)}) lies above."


def _matching(comparison: Comparison) -> str:
    """Describe the entities compared, how they were matched, and those left out."""
    sides = comparison.changes.items()
    shared = [counted(len(change.match), comparison.title(role)) for role, change in sides]
    how = [f"by {_key(change.match)}" for _, change in sides]
    together = [" and ".join(shared)] if len(set(how)) == 1 else shared
    matched = ", and ".join(f"{what}, matched {by}" for what, by in zip(together, how, strict=False))
    left_out = [
        f"{change.match.only_before:,} {comparison.title(role)}s only in the first model and "
        f"{change.match.only_after:,} only in the second were left out."
        for role, change in sides
        if change.match.only_before or change.match.only_after
    ]
    return " ".join([f"Compared: {matched}.", *left_out])


def _key(match: Match) -> str:
    """Name what told which rows are the same entity."""
    if match.by_names:
        return "their names"
    return "their ids" if match.by_ids else "the order of their rows"


def _next(comparison: Comparison) -> str:
    """Name the next step."""
    agreement, changes = comparison.agreement, comparison.changes.values()
    if _is_rounding(comparison):
        return "No gauge undoes rounding: read cosines from a model that is not rounded."
    if agreement is None:
        return _one_sided(comparison)
    still = all(map(_is_still, changes))
    served = all(change.predicted_kept is None or change.predicted_kept > 1 - LISTS for change in changes)
    if agreement.same and still and served:
        return "Nothing to do: either model can stand in for the other."
    if "rankings" in agreement.predicts and not (still and served):
        start = "The models are the same up to that gauge. " if comparison.explained else ""
        return f"{start}Rankings leave lengths of users open, and so prediction cosines: compare what the models rank."
    if comparison.explained:
        unseen = any(change.mean_unseen >= SHOWN for change in changes)
        beside = " and dimensions that no prediction sees" if unseen else ""
        return (
            f"The models are the same up to that gauge{beside}. Compare and index them by "
            f"`embaudit fix MODEL --as {_common_form(comparison)}`, which gives both the same cosines."
        )
    if agreement.same:
        return "No prediction asks for what differs in the cosines: compare what the models predict."
    if comparison.fits or still:
        what = "cosines agree" if still else "factors agree up to that gauge"
        return (
            f"Their {what} and their predictions do not: no cosine shows biases, an offset, lengths or what is made of "
            f"the scores. Compare what the models predict."
        )
    if agreement.of_one_table:
        # Their plain cosines are those of the predictions, and there is no form to bring them into.
        return ""
    form = _common_form(comparison)
    what = "models by prediction cosines" if form == "prediction" else "heads with their norms folded in"
    return (
        f"Compare {what} (`embaudit fix MODEL --as {form}`), which no gauge moves: what differs there is no matter of "
        "coordinates."
    )


def _common_form(comparison: Comparison) -> str:
    """Return the form in which equivalent models share their cosines: a head without inputs folds its norm in."""
    return "folded-centred" if comparison.n_states else "prediction"


def _is_rounding(comparison: Comparison) -> bool:
    """Check that rounding moved numbers, and can be all that no gauge undoes."""
    rounded, same = comparison.rounded, comparison.agreement is not None and comparison.agreement.same
    return rounded is not None and rounded.explains and rounded.largest > 0 and not same


def _one_sided(comparison: Comparison) -> str:
    (role,) = comparison.changes
    still = comparison.changes[role].mean_total < STILL
    what = "" if still or not comparison.fits else "All of the difference could be a gauge. "
    return (
        f"{what}Whether the models predict the same cannot be known from one side: load the other side, too, and "
        f"compare again."
    )
