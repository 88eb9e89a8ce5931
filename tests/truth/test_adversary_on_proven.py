"""An adversary against every sentence that an audit calls proven: within the set it names, on the rows as stored.

`EMBAUDIT_ADVERSARY=500` looks at as many random models; `make adversary` does. Nothing is taken from the package but
the audit, the action of a gauge, and `break_claim`, which knows no gauge.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from adversary import break_claim, other_temperatures
from proven_models import KINDS, proven_model

from embaudit import audit
from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.errors import InputError
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear
from embaudit.model import Equivalence, FactorModel

NUMBER = int(os.environ.get("EMBAUDIT_ADVERSARY", "60"))
EFFORT = {"n_gauges": 1, "n_starts": 1, "n_steps": 2}
TOLERANCE = 1e-6


@cache
def audited(number):
    model = proven_model(number)
    try:
        return audit(model, **EFFORT)
    except (
        InputError
    ):  # fewer than two rows with a direction, or labels that are all the same
        return None


def proven(number):
    found = audited(number)
    return (
        []
        if found is None
        else [one for one in found.conclusions if one.kind is Kind.PROVEN]
    )


def unit(x):
    with np.errstate(invalid="ignore", divide="ignore"):
        return x / np.linalg.norm(x, axis=1, keepdims=True)


def cosines(model, role):
    """All of a role, as a matrix."""
    first, second = {"right": "rr", "left": "ll", "cross": "lr"}[role]
    sides = {"l": model.left, "r": model.right}
    found = (
        unit(np.asarray(sides[first], float)) @ unit(np.asarray(sides[second], float)).T
    )
    return (
        found
        if role == "cross"
        else np.where(np.triu(np.ones(found.shape), 1) > 0, found, np.nan)
    )


# Pinned


def pinned(model, one, draw):
    """Search for an equivalent model that moves the cosines."""
    if (
        model.compared is not None
    ):  # a factor of the same products is sought from the products alone
        x = (
            np.asarray(model.right, float)
            if model.compared == "dot"
            else unit(np.asarray(model.right, float))
        )
        x = x[np.isfinite(x).all(axis=1)]
        values, vectors = np.linalg.eigh(x @ x.T)
        other = (vectors * np.sqrt(values.clip(0)))[:, -model.rank :]
        before, after = (unit(y) @ unit(y).T for y in (x, other))
        known = np.isfinite(before) & (np.linalg.norm(x, axis=1) > 1e-6)[:, None]
        return bool(np.nanmax(np.abs(after - before)[known], initial=0) > 1e-3)
    if model.left is None and model.link.name == "cosine":
        model = model.replace(
            left=draw.standard_normal((2 * model.rank + 1, model.rank))
        )
    twins = [
        break_claim(model, role=side, starts=4, rng=draw)
        for side in model.sides
        if side in ("left", "right")
    ]
    if one.role != "cross":
        return any(
            twin.found
            for side, twin in zip(model.sides, twins, strict=True)
            if side == one.role
        )
    return any(t.gap <= t.bound and np.nanmax(np.abs(cosines(t.model, "cross") - cosines(model.take(
        **{s: model.side(s).directed for s in model.link.unit_sides}), "cross"))) > 1e-3 for t in twins)  # fmt: skip


# Free


def visible(model, scores):
    """What no free bias takes up of scores."""
    softmax = model.link.name == "softmax" or model.predicts.name in (
        "PROBABILITIES",
        "RANKINGS",
    )
    capped = getattr(model.link, "soft_cap", None) is not None
    if model.left_bias is not None or (softmax and not capped):
        scores = scores - scores.mean(axis=1, keepdims=True)
    if model.right_bias is not None:
        scores = scores - scores.mean(axis=0)
    return scores


def free(model, one, draw):
    """Make the equivalent model that the sentence describes; a break is a sentence that describes none."""
    role = one.role
    if one.text.startswith("One vector"):
        side = "right" if "items" in one.text or "labels" in one.text else "left"
        return not np.any(model.factors(side) != model.factors(side)[0])
    left = (
        draw.standard_normal((5, model.rank))
        if model.left is None
        else np.asarray(model.left, float)
    )
    right = np.asarray(model.right, float)
    scores = left @ right.T
    if one.text.startswith("Without its factors"):
        return model.left is not None and bool(
            np.abs(visible(model, scores)).max() > 1e-8 * np.abs(scores).max()
        )
    if one.text.startswith("No "):
        seen = int(re.search(r"more than (\d+) of", one.text)[1])
        values = np.linalg.svd(scores if model.left is not None else right)[1]
        return bool((values[seen:] > 1e-6 * values[0]).any()) and seen < model.rank - 1
    if role == "cross":
        return model.rank < 2
    x = unit(right if role == "right" else left)
    x = x[np.isfinite(x).all(axis=1)]
    if "not parallel" not in one.text:
        return True
    pairs = np.argwhere(np.triu(np.abs(x @ x.T) < 0.999, 1))
    return bool(len(pairs)) and not any(
        _any_cosine(x[i], x[j], draw) for i, j in pairs[:3]
    )


def _any_cosine(a, b, draw):
    """Whether a linear map gives two rows a cosine drawn at random."""
    wanted, k = draw.uniform(-0.9, 0.9), len(a)
    basis = np.linalg.qr(np.column_stack([a, b, draw.standard_normal((k, k))])[:, :k])[
        0
    ]
    rows = np.vstack([a, b]) @ basis
    block = np.linalg.solve(rows[:, :2], [[1, 0], [wanted, np.sqrt(1 - wanted**2)]])
    linear = basis @ np.block(
        [[block, np.zeros((2, k - 2))], [np.zeros((k - 2, 2)), np.eye(k - 2)]]
    )
    y = unit(np.vstack([a, b]) @ linear)
    return abs(y[0] @ y[1] - wanted) < 1e-6 and np.linalg.cond(linear) < 1e8


# Cosines over a temperature


def temperature_fixes_order_alone(model, one, draw):
    """Return True if an equivalent model at another temperature has another order of the items for a user.

    The sentence also breaks if no equivalent model has other cosines of users with items,
    or, where it says so, of items with items.
    """
    units = [side for side in model.link.unit_sides if side in model.sides]
    model = model.take(**{side: model.side(side).directed for side in units})
    if model.left is None:
        left = draw.standard_normal((2 * model.rank + 1, model.rank))
        model = model.replace(left=left)
    before = cosines(model, "cross")
    twins = [
        *other_temperatures(model, role=one.role, starts=4, rng=draw),
        *(with_a_number_per_user(model, draw) for _ in range(4)),
    ]
    orders = [in_another_order(before, cosines(twin, "cross")) for twin in twins]
    levels = [np.abs(cosines(twin, "cross") - before).max() for twin in twins]
    within = [
        np.nanmax(np.abs(cosines(twin, one.role) - cosines(model, one.role)), initial=0)
        for twin in twins
    ]
    has_pairs = len(model.factors(one.role)) > 1
    is_fixed = max(levels) < 1e-3 or (has_pairs and max(within) < 1e-3)
    return any(orders) or is_fixed


def with_a_number_per_user(model, draw):
    """Add a number to the cosines of each user, which no softmax over the items sees, and lower the temperature.

    Users (√(1−b) x, √b t, √b √(1−t²)) and items (√(1−b) y, √b, 0) of length 1 have the
    cosines (1−b) x·y + b t, so at the temperature (1−b) τ the logits x·y/τ move by
    b t / ((1−b) τ), one number per user.
    """
    b, t = draw.uniform(0.1, 0.9), draw.uniform(-1, 1, size=model.n_left)
    left, right = (unit(np.asarray(model.factors(s), float)) for s in ("left", "right"))
    beside = np.column_stack([t, np.sqrt(1 - t**2)])
    left = np.hstack([np.sqrt(1 - b) * left, np.sqrt(b) * beside])
    beside = np.tile([1.0, 0.0], (len(right), 1))
    right = np.hstack([np.sqrt(1 - b) * right, np.sqrt(b) * beside])
    return model.replace(left=left, right=right)


def in_another_order(before, after):
    """Return True if a pair of items changes its order for a user, or a tie becomes an order."""
    old, new = (x[:, :, None] - x[:, None, :] for x in (before, after))
    turned = (old > 1e-6) & (new < -1e-9)
    parted = (np.abs(old) < 1e-12) & (np.abs(new) > 1e-6)
    return bool(turned.any() or parted.any())


# Bounds


def tried(model, scope, kind, role, draw):
    """Gauges within a set, some of which spend its budgets."""
    k, kappa = model.rank, scope.max_condition
    side = (
        "left"
        if (role == "left" or (role == "cross" and "right" not in model.free_shifts))
        else "right"
    )
    length = (scope.max_shift or 0) * model.side(side).median_length
    for _ in range(6):
        axes = np.linalg.qr(draw.standard_normal((k, k)))[0]
        ends = np.where(draw.random(k) < 0.5, 1.0, kappa)
        linear = (
            Gauge.diagonal(ends) if kind == Diagonal.kind else Gauge.linear(axes * ends)
        )
        drawn = (
            GeneralLinear(k, max_condition=kappa).sample(rng=draw)
            if kind != Diagonal.kind
            else linear
        )
        for one in (linear, drawn):
            if not scope.max_shift:
                yield one
                continue
            shift = draw.standard_normal(k)
            group = Affine(k, side=side, max_condition=kappa, max_shift=length)
            # A shift that is one row long leaves nothing of that row but rounding.
            yield group.after(shift * (1 - 1e-9) * length / np.linalg.norm(shift), one)


def in_ranges(model, found, draw):
    """Compare cosines under gauges of a set with its ranges, pair by pair, and their widths with the number printed."""
    for one in found.evidence.limits.ranges:
        for claim in proven_of(found, "range", one.role):
            if (
                not claim.scope.models.startswith(one.group)
                or claim.scope.max_condition != one.max_condition
            ):
                continue
            for gauge in (None, *tried(model, claim.scope, one.group, one.role, draw)):
                moved = cosines(model if gauge is None else gauge.act(model), one.role)
                after = _full(moved)[tuple(one.ranges.pairs.T)]
                assert not (after < one.ranges.lower - TOLERANCE).any()
                assert not (after > one.ranges.upper + TOLERANCE).any()
            widths = (one.ranges.upper - one.ranges.lower)[~np.isnan(one.ranges.lower)]
            assert np.mean(widths >= claim.value - 1e-9) >= 0.5


def standing(x):
    """Return the first row of each group of copies: rows of one direction before their numbers were rounded.

    A number of p binary digits lies 2⁻ᵖ of its size, at most, from the one that was
    rounded. So each row turns by an angle of 2⁻ᵖ at most, and two of one direction are
    at most 2¹⁻ᵖ apart. An angle a brings the cosine to 1 − a²/2 at least, and float64
    adds (8 + √k) 2⁻⁵² of rounding.
    """
    spacing, rounding = 2.0**-52, (8 + np.sqrt(x.shape[1])) * 2.0**-52
    for kind, digits in ((np.float32, 24), (np.float16, 11)):
        if (x.astype(kind) == x).all():
            spacing = 2.0 ** (1 - digits)
    directions = unit(x)
    least = 1 - spacing**2 / 2 - rounding
    line = directions[np.isfinite(directions).all(axis=1)]
    if (np.abs(line @ line[0]) > 1 - rounding).all():
        # On a line all rows have one direction because there is no other.
        return np.arange(len(x))
    firsts = []
    for i in range(len(x)):
        if not (directions[firsts] @ directions[i] > least).any():
            firsts.append(i)
    return np.array(firsts)


def in_lists(model, found, draw):
    """Seek rows that drive a certified entry out of its list; lists hold one row of each group of copies."""
    for one in found.evidence.limits.certificates:
        x = np.asarray(model.factors(one.role), float)
        firsts = standing(x)
        for claim in proven_of(found, "certified", one.role):
            if not claim.scope.models.startswith(one.group):
                continue
            # The proof holds for lists without copies only, so the sentence says so.
            assert ("duplicates counted once" in claim.rows) == (len(firsts) < len(x))
            certain = one.certified.certified(claim.scope.max_condition)
            assert certain.all(axis=1).mean() >= claim.value - 1e-9
            for gauge in tried(model, claim.scope, one.group, one.role, draw):
                after = _full(cosines(gauge.act(model), one.role))
                for row, listed, sure in zip(
                    one.certified.rows, one.certified.indices, certain, strict=True
                ):
                    rivals = after[row, np.setdiff1d(firsts, row)]
                    for j in listed[sure]:
                        assert (rivals > after[row, j] + TOLERANCE).sum() < len(listed)


def proven_of(found, code, role):
    return [
        one
        for one in found.conclusions
        if (one.code, one.role, one.kind) == (code, role, Kind.PROVEN)
    ]


def in_bounds(model, found, draw):
    """Compare mean movements and lost neighbours under gauges of a set with the numbers printed."""
    for claim in (one for one in found.conclusions if one.code == "bound"):
        (attack,) = [
            a for a in found.evidence.limits.attacks
            if (a.role, a.bound) == (claim.role, claim.value) and claim.scope.models.startswith(a.group.kind)
            and ("listed" in claim.rows) == (a.objective == "neighbours")
        ]  # fmt: skip
        if attack.objective == "neighbours":
            printed = float(re.search(r"([\d.]+) %", claim.text)[1]) / 100
            rows, lists = attack.table[:, 0], attack.table[:, 1:]
            kept = np.unique(attack.table)
            for gauge in tried(model, claim.scope, attack.group.kind, claim.role, draw):
                after = _full(cosines(gauge.act(model), claim.role))
                lost = []
                for row, listed in zip(rows, lists, strict=True):
                    rivals = after[row, np.setdiff1d(kept, [row, *listed])]
                    lost += [(rivals > after[row, j] + 1e-6).sum() > 0 and
                             (after[row, np.setdiff1d(kept, [row])] > after[row, j] + 1e-6).sum() >= len(listed)
                             for j in listed]  # fmt: skip
                assert np.mean(lost) <= printed + TOLERANCE
            continue
        printed = float(re.search(r"is at most ([\d.]+)\. That holds", claim.text)[1])
        before = _full(cosines(model, claim.role))[tuple(attack.table.T)]
        for gauge in (
            attack.gauge,
            *tried(model, claim.scope, attack.group.kind, claim.role, draw),
        ):
            after = _full(cosines(gauge.act(model), claim.role))[tuple(attack.table.T)]
            assert np.nanmean(np.abs(after - before)) <= printed + TOLERANCE


def _full(found):
    return (
        np.where(np.isnan(found), found.T, found)
        if found.shape[0] == found.shape[1]
        else found
    )


# Rows that no prediction sees, and heads


def unseen(model, one, draw):
    """Exchange what lies outside the span of the other side: the scores stay, and the cosines move."""
    x, other = (
        np.asarray(model.factors(s), float)
        for s in (one.role, "left" if one.role == "right" else "right")
    )
    other = other - other.mean(axis=0) * (
        one.role == "left" and model.predicts <= Equivalence.PROBABILITIES
    )
    _, values, axes = np.linalg.svd(other)
    outside = axes[(values > 1e-8 * values[0]).sum() :]
    moved = x + draw.standard_normal((len(x), len(outside))) @ outside * np.abs(x).max()
    same = (
        np.abs(moved @ other.T - x @ other.T).max()
        <= 1e-7 * np.abs(x).max() * np.abs(other).max() * model.rank
    )
    return not (len(outside) and same)


def labels_of(model):
    x = np.asarray(model.right, float)
    return np.nan_to_num(unit(x)) if "right" in model.link.unit_sides else x


def independent(model, one, draw):
    """Ask for differences of logits drawn at random, and for two projector cosines that differ."""
    x = labels_of(model)
    apart, wanted = x[1:] - x[0], draw.standard_normal(len(x) - 1)
    found = np.linalg.lstsq(apart, wanted, rcond=None)[0]
    return bool(np.abs(apart @ found - wanted).max() > 1e-5)


def hidden(model, one, draw):
    """Seek an input that puts such a label ahead of all others."""
    x, b = labels_of(model), 0.0 if model.right_bias is None else model.right_bias
    names = {str(name): place for place, name in enumerate(model.names("right"))}
    for name in re.findall(r"'([^']*)'", one.text):
        j = names[name]
        h = np.vstack([draw.standard_normal((4_000, model.rank)) * draw.choice([0.1, 1, 10, 1e3], (4_000, 1)),
                       draw.standard_normal((2_000, model.rank)) + x[j] * 3])  # fmt: skip
        logits = h @ x.T + b
        lead = logits[:, j] - np.delete(logits, j, axis=1).max(axis=1)
        if (lead > 1e-3 * np.ptp(logits, axis=1)).any():
            return True
    return False


ATTACKS = {
    "pinned": pinned, "free": free, "EMB203": unseen, "EMB302": independent, "EMB304": hidden,
    "order": temperature_fixes_order_alone,
}  # fmt: skip
BOUNDS = {"range", "certified", "bound"}


def broken_sentences(model, found, draw):
    """Attack all that an audit of a model calls proven; return the sentences that do not hold."""
    broken = [
        (one.code, one.role, one.text)
        for one in found.conclusions
        if one.kind is Kind.PROVEN
        and one.code not in BOUNDS
        and ATTACKS[one.code](model, one, draw)
    ]
    in_ranges(model, found, draw)
    in_lists(model, found, draw)
    in_bounds(model, found, draw)
    return broken


@pytest.mark.parametrize("number", range(NUMBER))
def test_no_equivalent_model_breaks_a_sentence_called_proven(number):
    if audited(number) is not None:
        draw = np.random.default_rng(number)
        assert broken_sentences(proven_model(number), audited(number), draw) == []


def test_the_adversary_breaks_false_sentences():
    """Sentences about other models."""
    draw, false = (
        np.random.default_rng(0),
        Finding("", Severity.NOTE, Kind.PROVEN, AT_HAND, "", ""),
    )
    plain = FactorModel.from_user_item(
        draw.standard_normal((7, 3)), draw.standard_normal((6, 3))
    )
    assert pinned(plain, replace(false, role="right"), draw)
    assert free(
        plain,
        replace(
            false, role="right", text="No score shows more than 1 of 3 dimensions."
        ),
        draw,
    )
    assert free(
        plain,
        replace(false, role="right", text="Without its factors the model is the same."),
        draw,
    )
    alike = plain.replace(right=np.ones((6, 3)))
    assert free(
        alike,
        replace(false, role="right", text="One vector can make two items opposite."),
        draw,
    )
    assert unseen(plain, replace(false, role="right"), draw)
    # Scores, instead of cosines over a temperature, fix no order of cosines.
    assert temperature_fixes_order_alone(plain, replace(false, role="right"), draw)
    head = FactorModel.from_softmax(plain.right)
    assert independent(head, replace(false, code="EMB302"), draw)
    assert hidden(
        head,
        replace(
            false, text=f"No input puts them ('{plain.right[:, 0].argmax()}') ahead."
        ),
        draw,
    )


def test_the_adversary_meets_every_kind_of_proof_and_of_model():
    found = [one.code for number in range(NUMBER) for one in proven(number)]
    assert set(found) == {*ATTACKS, *BOUNDS}
    assert sum(audited(number) is None for number in range(NUMBER)) <= NUMBER / 10
    links = {str(proven_model(number).link) for number in range(NUMBER)}
    assert {"cosine", "unknown", "ranking", "identity", "sigmoid"} <= links
    assert len(KINDS) <= NUMBER
