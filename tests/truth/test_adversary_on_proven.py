"""An adversary against every statement that an audit calls proven.

A statement holds for the set of models that it names and for the rows as stored. The
package contributes only the audit and the action of a gauge. `break_claim` uses no
gauge.

`EMBAUDIT_ADVERSARY=500`, as in `make adversary`, sets the number of random models.
"""

from __future__ import annotations

import os
import re
from functools import cache

import numpy as np
import pytest
from adversary import break_claim, other_temperatures
from proven_models import KINDS, proven_model

from embaudit import audit
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.errors import InputError
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear
from embaudit.model import Equivalence, FactorModel

NUMBER = int(os.environ.get("EMBAUDIT_ADVERSARY", "60"))
EFFORT = {"n_gauges": 1, "n_starts": 1, "n_steps": 2}
TOLERANCE = 1e-6


@cache
def audited(number):
    """Audit the model with this number. Return None if the audit refuses it.

    This happens with fewer than two rows with a direction, and with equal labels.
    """
    model = proven_model(number)
    try:
        return audit(model, hull=model.link.name == "softmax", **EFFORT)
    except InputError:
        return None


def proven_findings(result):
    return [finding for finding in result.conclusions if finding.kind is Kind.PROVEN]


def proven_of(result, code, role):
    return [
        finding
        for finding in proven_findings(result)
        if finding.code == code and finding.role == role
    ]


def unit(x):
    """Divide rows by their lengths; a zero row becomes NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return x / np.linalg.norm(x, axis=1, keepdims=True)


def float_rows(model, side):
    return np.asarray(model.factors(side), float)


def cosines(model, role):
    """Return the cosines of a role as a matrix.

    Within a side only the entries above the diagonal are given; the others are NaN.
    """
    if role == "cross":
        return unit(float_rows(model, "left")) @ unit(float_rows(model, "right")).T
    rows = unit(float_rows(model, role))
    found = rows @ rows.T
    found[np.tril_indices(len(found))] = np.nan
    return found


def cosines_in_both_orders(model, role):
    """Return the cosines of a role, of a pair (i, j) and of (j, i) alike."""
    found = cosines(model, role)
    if role == "cross":
        return found
    return np.where(np.isnan(found), found.T, found)


def with_random_left_rows(model, draw):
    left = draw.standard_normal((2 * model.rank + 1, model.rank))
    return model.replace(left=left)


def only_rows_with_direction(model):
    """Drop the zero rows of the sides whose rows the link divides by their length."""
    sides = [side for side in model.link.unit_sides if side in model.sides]
    return model.take(**{side: model.side(side).directed for side in sides})


# Cosines that are called pinned


def breaks_pinned(model, finding, draw):
    """Return True if an equivalent model with other cosines is found."""
    if model.compared is not None:
        return products_leave_cosines_open(model)
    if model.left is None and model.link.name == "cosine":
        model = with_random_left_rows(model, draw)
    breaks = {
        side: break_claim(model, role=side, starts=4, rng=draw) for side in model.sides
    }
    if finding.role != "cross":
        return finding.role in breaks and breaks[finding.role].found
    before = cosines(only_rows_with_direction(model), "cross")
    for twin in breaks.values():
        change = np.abs(cosines(twin.model, "cross") - before)
        if twin.gap <= twin.bound and np.nanmax(change) > 1e-3:
            return True
    return False


def products_leave_cosines_open(model):
    """Return True if other rows with the same products have other cosines.

    The other rows X' come from the products alone: X Xᵀ = V Λ Vᵀ = X' X'ᵀ for the last
    columns of V √Λ.
    """
    rows = float_rows(model, "right")
    if model.compared != "dot":
        rows = unit(rows)
    rows = rows[np.isfinite(rows).all(axis=1)]
    values, vectors = np.linalg.eigh(rows @ rows.T)
    factors = vectors * np.sqrt(values.clip(0))
    other = factors[:, -model.rank :]
    before = unit(rows) @ unit(rows).T
    after = unit(other) @ unit(other).T
    # Only rounding is left of a row of length zero, so its direction means nothing.
    has_direction = np.linalg.norm(rows, axis=1) > 1e-6
    known = np.isfinite(before) & has_direction[:, None]
    return bool(np.nanmax(np.abs(after - before)[known], initial=0) > 1e-3)


# Cosines that are called free


def visible(model, scores):
    """Subtract from the scores the means that a free bias or a softmax takes up."""
    predicts_per_row = model.predicts.name in ("PROBABILITIES", "RANKINGS")
    is_softmax = model.link.name == "softmax" or predicts_per_row
    has_cap = getattr(model.link, "soft_cap", None) is not None
    if model.left_bias is not None or (is_softmax and not has_cap):
        scores = scores - scores.mean(axis=1, keepdims=True)
    if model.right_bias is not None:
        scores = scores - scores.mean(axis=0)
    return scores


def breaks_free(model, finding, draw):
    """Return True if the equivalent model that the sentence describes is missing."""
    role, text = finding.role, finding.text
    if text.startswith("One vector"):
        side = "right" if "items" in text or "labels" in text else "left"
        rows = model.factors(side)
        return bool(np.all(rows == rows[0]))
    left = (
        draw.standard_normal((5, model.rank))
        if model.left is None
        else float_rows(model, "left")
    )
    right = float_rows(model, "right")
    scores = left @ right.T
    if text.startswith("Without its factors"):
        largest = np.abs(scores).max()
        remains = np.abs(visible(model, scores)).max() > 1e-8 * largest
        return model.left is not None and bool(remains)
    if text.startswith("No "):
        # "No score shows more than 2 of 3 dimensions."
        n_seen = int(re.search(r"more than (\d+) of", text)[1])
        values = np.linalg.svd(right if model.left is None else scores)[1]
        shows_more = (values[n_seen:] > 1e-6 * values[0]).any()
        return bool(shows_more) and n_seen < model.rank - 1
    if role == "cross":
        return model.rank < 2
    directions = unit(right if role == "right" else left)
    directions = directions[np.isfinite(directions).all(axis=1)]
    if "not parallel" not in text:
        return True
    is_oblique = np.abs(directions @ directions.T) < 0.999
    pairs = np.argwhere(np.triu(is_oblique, 1))
    for i, j in pairs[:3]:
        if can_get_any_cosine(directions[i], directions[j], draw):
            return False
    return len(pairs) > 0


def can_get_any_cosine(a, b, draw):
    """Return True if a linear map with κ < 1e8 gives two rows a cosine drawn at random.

    In an orthonormal basis that starts with the plane of a and b, the map sends a to
    (1, 0) and b to (c, √(1−c²)) within the plane, and keeps all directions across it.
    """
    k = len(a)
    cosine = draw.uniform(-0.9, 0.9)
    spanning = np.column_stack([a, b, draw.standard_normal((k, k))])[:, :k]
    basis = np.linalg.qr(spanning)[0]
    rows = np.vstack([a, b])
    in_plane = (rows @ basis)[:, :2]
    wanted = [[1, 0], [cosine, np.sqrt(1 - cosine**2)]]
    block = np.eye(k)
    block[:2, :2] = np.linalg.solve(in_plane, wanted)
    linear = basis @ block
    first, second = unit(rows @ linear)
    is_reached = abs(first @ second - cosine) < 1e-6
    return is_reached and np.linalg.cond(linear) < 1e8


# Cosines over a temperature


def breaks_order(model, finding, draw):
    """Return True if an equivalent model has another order of the items for a user.

    Equivalent models may have any temperature. The sentence also breaks if no
    equivalent model has other cosines of users with items, or within the role.
    """
    role = finding.role
    model = only_rows_with_direction(model)
    if model.left is None:
        model = with_random_left_rows(model, draw)
    twins = other_temperatures(model, role=role, starts=4, rng=draw)
    twins += [with_a_number_per_user(model, draw) for _ in range(4)]
    before = cosines(model, "cross")
    before_within = cosines(model, role)
    largest_change, largest_change_within = 0.0, 0.0
    for twin in twins:
        after = cosines(twin, "cross")
        if has_another_order(before, after):
            return True
        change = np.abs(after - before).max()
        change_within = np.nanmax(
            np.abs(cosines(twin, role) - before_within), initial=0
        )
        largest_change = max(largest_change, change)
        largest_change_within = max(largest_change_within, change_within)
    has_pairs = len(model.factors(role)) > 1
    return largest_change < 1e-3 or (has_pairs and largest_change_within < 1e-3)


def with_a_number_per_user(model, draw):
    """Lower the temperature, and add one number per user to the cosines of the user.

    No softmax over the items sees these numbers. Take users x and items y of length 1,
    a share b of the squared length, and one number t per user. The new rows of length 1

        users (√(1−b) x, √b t, √b √(1−t²))  and  items (√(1−b) y, √b, 0)

    have the cosines (1−b) x·y + b t. At the temperature (1−b) τ the logits x·y/τ grow
    by b t / ((1−b) τ), which does not depend on the item.
    """
    b = draw.uniform(0.1, 0.9)
    t = draw.uniform(-1, 1, size=model.n_left)
    users = unit(float_rows(model, "left"))
    items = unit(float_rows(model, "right"))
    user_columns = np.column_stack([t, np.sqrt(1 - t**2)])
    item_columns = np.tile([1.0, 0.0], (len(items), 1))
    return model.replace(
        left=np.hstack([np.sqrt(1 - b) * users, np.sqrt(b) * user_columns]),
        right=np.hstack([np.sqrt(1 - b) * items, np.sqrt(b) * item_columns]),
    )


def has_another_order(before, after):
    """Return True if two items change places for a user, or if a tie is broken."""
    old = before[:, :, None] - before[:, None, :]
    new = after[:, :, None] - after[:, None, :]
    changes_places = (old > 1e-6) & (new < -1e-9)
    breaks_tie = (np.abs(old) < 1e-12) & (np.abs(new) > 1e-6)
    return bool(changes_places.any() or breaks_tie.any())


# Bounds


def gauges_within(model, scope, kind, role, draw):
    """Yield twelve gauges of a set.

    Half of them have the scales 1 and κ only, and all shifts are as long as the set
    allows.
    """
    k, kappa = model.rank, scope.max_condition
    shifts_right = "right" in model.free_shifts
    side = (
        "left" if role == "left" or (role == "cross" and not shifts_right) else "right"
    )
    max_length = (scope.max_shift or 0) * model.side(side).median_length
    for _ in range(6):
        axes = np.linalg.qr(draw.standard_normal((k, k)))[0]
        scales = np.where(draw.random(k) < 0.5, 1.0, kappa)
        if kind == Diagonal.kind:
            gauges = [Gauge.diagonal(scales)] * 2
        else:
            drawn = GeneralLinear(k, max_condition=kappa).sample(rng=draw)
            gauges = [Gauge.linear(axes * scales), drawn]
        for gauge in gauges:
            if not scope.max_shift:
                yield gauge
                continue
            direction = draw.standard_normal(k)
            # A shift as long as a row may cancel this row and leave rounding only.
            length = (1 - 1e-9) * max_length
            shift = direction * length / np.linalg.norm(direction)
            group = Affine(k, side=side, max_condition=kappa, max_shift=max_length)
            yield group.after(shift, gauge)


def check_ranges(model, result, draw):
    """Compare cosines under gauges with their ranges, and widths with the sentence."""
    limits = result.evidence.limits
    for claim in proven_findings(result):
        if claim.code != "range":
            continue
        scope = claim.scope
        (found,) = [
            one
            for one in limits.ranges
            if one.role == claim.role
            and scope.models.startswith(one.group)
            and scope.max_condition == one.max_condition
        ]
        ranges = found.ranges
        gauges = gauges_within(model, scope, found.group, claim.role, draw)
        models = [model, *(gauge.act(model) for gauge in gauges)]
        for twin in models:
            after = cosines_in_both_orders(twin, claim.role)[tuple(ranges.pairs.T)]
            assert not (after < ranges.lower - TOLERANCE).any()
            assert not (after > ranges.upper + TOLERANCE).any()
        # The sentence says that half of the ranges at least are this wide.
        widths = (ranges.upper - ranges.lower)[~np.isnan(ranges.lower)]
        assert np.mean(widths >= claim.value - 1e-9) >= 0.5


def first_of_duplicates(x):
    """Return the first row of each group of duplicates.

    Duplicates are rows that had one direction before their numbers were rounded.

    Rounding to p binary digits moves a number by at most 2⁻ᵖ of its size. So each row
    turns by at most the angle 2⁻ᵖ, and two rows of one direction are at most 2¹⁻ᵖ
    apart. The cosine of an angle a is at least 1 − a²/2, and float64 adds a rounding
    of (8 + √k) 2⁻⁵².
    """
    rounding = (8 + np.sqrt(x.shape[1])) * 2.0**-52
    angle = 2.0**-52
    for dtype, digits in ((np.float32, 24), (np.float16, 11)):
        if (x.astype(dtype) == x).all():
            angle = 2.0 ** (1 - digits)
    least = 1 - angle**2 / 2 - rounding
    directions = unit(x)
    nonzero = directions[np.isfinite(directions).all(axis=1)]
    if (np.abs(nonzero @ nonzero[0]) > 1 - rounding).all():
        # On a line there are only two directions, so equal ones make no duplicates.
        return np.arange(len(x))
    firsts = []
    for i in range(len(x)):
        if not (directions[firsts] @ directions[i] > least).any():
            firsts.append(i)
    return np.array(firsts)


def check_lists(model, result, draw):
    """Try gauges that drive a certified entry out of its list.

    Lists hold one row of each group of duplicates.
    """
    for claim in proven_findings(result):
        if claim.code != "certified":
            continue
        role, scope = claim.role, claim.scope
        (certificate,) = [
            one
            for one in result.evidence.limits.certificates
            if one.role == role and scope.models.startswith(one.group)
        ]
        x = float_rows(model, role)
        firsts = first_of_duplicates(x)
        has_duplicates = len(firsts) < len(x)
        # The proof holds for lists without duplicates only, so the sentence says so.
        assert ("duplicates counted once" in claim.rows) == has_duplicates
        lists = certificate.certified
        is_certain = lists.certified(scope.max_condition)
        assert is_certain.all(axis=1).mean() >= claim.value - 1e-9
        for gauge in gauges_within(model, scope, certificate.group, role, draw):
            after = cosines_in_both_orders(gauge.act(model), role)
            for row, listed, certain in zip(
                lists.rows, lists.indices, is_certain, strict=True
            ):
                others = after[row, np.setdiff1d(firsts, row)]
                for entry in listed[certain]:
                    n_closer = (others > after[row, entry] + TOLERANCE).sum()
                    assert n_closer < len(listed)


def check_bounds(model, result, draw):
    """Compare mean movements and lost neighbours under gauges with the sentences."""
    for claim in result.conclusions:
        if claim.code != "bound":
            continue
        is_about_lists = "listed" in claim.rows
        (attack,) = [
            one
            for one in result.evidence.limits.attacks
            if one.role == claim.role
            and one.bound == claim.value
            and claim.scope.models.startswith(one.group.kind)
            and is_about_lists == (one.objective == "neighbours")
        ]
        gauges = gauges_within(model, claim.scope, attack.group.kind, claim.role, draw)
        if is_about_lists:
            check_lost_neighbours(model, claim, attack, gauges)
        else:
            check_mean_movement(model, claim, attack, gauges)


def check_lost_neighbours(model, claim, attack, gauges):
    printed = float(re.search(r"([\d.]+) %", claim.text)[1]) / 100
    items = np.unique(attack.table)
    for gauge in gauges:
        after = cosines_in_both_orders(gauge.act(model), claim.role)
        is_lost = []
        for row, *listed in attack.table:
            unlisted = after[row, np.setdiff1d(items, [row, *listed])]
            others = after[row, np.setdiff1d(items, row)]
            for entry in listed:
                least = after[row, entry] + TOLERANCE
                has_new_rival = (unlisted > least).any()
                has_full_list = (others > least).sum() >= len(listed)
                is_lost.append(has_new_rival and has_full_list)
        assert np.mean(is_lost) <= printed + TOLERANCE


def check_mean_movement(model, claim, attack, gauges):
    printed = float(re.search(r"is at most ([\d.]+)\. This holds", claim.text)[1])
    pairs = tuple(attack.table.T)
    before = cosines_in_both_orders(model, claim.role)[pairs]
    for gauge in (attack.gauge, *gauges):
        after = cosines_in_both_orders(gauge.act(model), claim.role)[pairs]
        assert np.nanmean(np.abs(after - before)) <= printed + TOLERANCE


# Directions that no prediction sees, and heads


def breaks_unseen(model, finding, draw):
    """Return True if moving rows outside the span of the other side changes a score."""
    side = finding.role
    rows = float_rows(model, side)
    other = float_rows(model, "left" if side == "right" else "right")
    if side == "left" and model.predicts <= Equivalence.PROBABILITIES:
        # Probabilities see differences of labels only.
        other = other - other.mean(axis=0)
    _, values, axes = np.linalg.svd(other)
    rank = (values > 1e-8 * values[0]).sum()
    outside = axes[rank:]
    steps = draw.standard_normal((len(rows), len(outside))) @ outside
    moved = rows + steps * np.abs(rows).max()
    change = np.abs(moved @ other.T - rows @ other.T).max()
    rounding = 1e-7 * np.abs(rows).max() * np.abs(other).max() * model.rank
    return len(outside) == 0 or change > rounding


def labels_of(model):
    """Return the label rows, of length 1 if the link divides them by their length."""
    labels = float_rows(model, "right")
    if "right" in model.link.unit_sides:
        return np.nan_to_num(unit(labels))
    return labels


def breaks_independent(model, finding, draw):
    """Return True if no input has differences of logits that are drawn at random."""
    labels = labels_of(model)
    differences = labels[1:] - labels[0]
    wanted = draw.standard_normal(len(differences))
    state = np.linalg.lstsq(differences, wanted, rcond=None)[0]
    return bool(np.abs(differences @ state - wanted).max() > 1e-5)


def breaks_hidden(model, finding, draw):
    """Return True if an input puts a label called hidden ahead of all others."""
    labels = labels_of(model)
    bias = 0.0 if model.right_bias is None else model.right_bias
    index_of = {str(name): index for index, name in enumerate(model.names("right"))}
    for name in re.findall(r"'([^']*)'", finding.text):
        label = index_of[name]
        directions = draw.standard_normal((4_000, model.rank))
        lengths = draw.choice([0.1, 1, 10, 1e3], (4_000, 1))
        near_label = draw.standard_normal((2_000, model.rank)) + 3 * labels[label]
        states = np.vstack([directions * lengths, near_label])
        logits = states @ labels.T + bias
        best_other = np.delete(logits, label, axis=1).max(axis=1)
        lead = logits[:, label] - best_other
        if (lead > 1e-3 * np.ptp(logits, axis=1)).any():
            return True
    return False


ATTACKS = {
    "pinned": breaks_pinned,
    "free": breaks_free,
    "order": breaks_order,
    "EMB203": breaks_unseen,
    "EMB302": breaks_independent,
    "EMB304": breaks_hidden,
}
"""For each code of a finding: a function that returns True for a broken sentence."""
BOUNDS = {"range", "certified", "bound"}
"""Codes of findings with numbers, which are compared with random gauges."""


def broken_sentences(model, result, draw):
    """Attack all sentences that are called proven; return the ones that do not hold."""
    broken = []
    for finding in proven_findings(result):
        if finding.code in BOUNDS:
            continue
        if ATTACKS[finding.code](model, finding, draw):
            broken.append((finding.code, finding.role, finding.text))
    check_ranges(model, result, draw)
    check_lists(model, result, draw)
    check_bounds(model, result, draw)
    return broken


@pytest.mark.parametrize("number", range(NUMBER))
def test_no_equivalent_model_breaks_a_sentence_called_proven(number):
    result = audited(number)
    if result is not None:
        draw = np.random.default_rng(number)
        assert broken_sentences(proven_model(number), result, draw) == []


def sentence(text="", role="right"):
    return Finding("", Severity.NOTE, Kind.PROVEN, THIS_MODEL, "", text, role=role)


def test_the_adversary_breaks_false_sentences():
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((7, 3)), draw.standard_normal((6, 3))
    # Scores of 7 users and 6 items in general position show all 3 dimensions.
    model = FactorModel.from_user_item(users, items)
    assert breaks_pinned(model, sentence(), draw)
    one_dimension = sentence("No score shows more than 1 of 3 dimensions.")
    assert breaks_free(model, one_dimension, draw)
    no_factors = sentence("Without its factors the model is the same.")
    assert breaks_free(model, no_factors, draw)
    equal_items = model.replace(right=np.ones((6, 3)))
    opposite = sentence("One vector can make two items opposite.")
    assert breaks_free(equal_items, opposite, draw)
    assert breaks_unseen(model, sentence(), draw)
    # Equal scores, unlike equal cosines over a temperature, fix no order of cosines.
    assert breaks_order(model, sentence(), draw)
    head = FactorModel.from_softmax(items)
    assert breaks_independent(head, sentence(), draw)
    # The state (1, 0, 0) puts the label with the largest first entry ahead.
    first = items[:, 0].argmax()
    assert breaks_hidden(head, sentence(f"No input puts them ('{first}') ahead."), draw)


def test_the_adversary_meets_every_kind_of_proof_and_of_model():
    results = [audited(number) for number in range(NUMBER)]
    assert results.count(None) <= NUMBER / 10
    codes = set()
    for result in results:
        if result is not None:
            codes |= {finding.code for finding in proven_findings(result)}
    assert codes == {*ATTACKS, *BOUNDS}
    links = {proven_model(number).link.name for number in range(NUMBER)}
    assert {"cosine", "unknown", "ranking", "identity", "sigmoid"} <= links
    assert len(KINDS) <= NUMBER
