"""What the explorer of a page holds: rows whose equivalent models are the package's, small whatever the model."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.canonical import at_exponent
from embaudit.canonical.position import log_condition
from embaudit.gauges import Gauge
from embaudit.model.final_norm import FinalNorm
from embaudit.report.explorer import explorer, held, script
from embaudit.report.page import page

GAIN = np.array([1.0, -2.0, 3.0, 0.5])


def at(family, place, shift=(0.0, 0.0), directions=None):
    """The rows of both sides at a place of a family, by its definition."""
    weight = np.exp(family.step * (place - family.origin))
    moved = 0.0
    if directions is not None:
        turn = np.eye(directions.shape[1]) if family.basis is None else family.basis
        moved = (np.subtract(shift, family.home) @ directions) @ turn
    return (family.rows + moved) * weight, family.other_rows / weight


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def of_kind(found, kind):
    return next(one for one in found.families if one.kind == kind)


@pytest.fixture(scope="module")
def audited():
    return ea.audit(
        random_model(scales=([5, 3, 2, 1, 0.5], 1), biases=["right_bias"], offset=2.0),
        n_gauges=1,
    )


@pytest.fixture(scope="module")
def shifted():
    """A model whose items may be shifted, with inputs."""
    return ea.audit(random_model(k=3, means=(0.5, 1.0), link="softmax"), n_gauges=1)


@pytest.fixture(scope="module")
def head():
    model = random_model(n=None, p=40, k=4, means=(0, 2.0), link="softmax")
    return ea.audit(model, n_gauges=1, final_norm=FinalNorm("rms", GAIN))


@pytest.mark.parametrize("exponent", [0.0, 0.3, 1.0])
def test_exponents_are_those_of_the_package(audited, exponent):
    found, model = explorer(audited), audited.model
    rows, others = at(of_kind(found, "exponent"), exponent)
    equal = at_exponent(model, exponent)
    assert np.abs(cosines(rows) - cosines(equal.right)).max() < 1e-12
    assert np.abs(cosines(others) - cosines(equal.left)).max() < 1e-12
    one = of_kind(found, "exponent")
    scores = others @ rows.T + one.row_bias + one.other_bias[:, None] + found.offset
    assert np.abs(scores - model.scores()).max() < 1e-12
    place = round(exponent * one.places)
    assert one.kappas[place] == pytest.approx(
        np.exp(log_condition(audited.evidence.position.form, exponent)), rel=1e-12
    )
    assert one.is_gauge
    assert "From users whitened (0) to items whitened (1)" in page(audited)
    assert [text for _, text in one.stops] == [
        "users whitened (prediction cosine)",
        "balanced",
        "items whitened",
    ]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_way_to_the_worst_gauge_leads_from_the_model_at_hand(audited, share):
    found, attack = explorer(audited), audited.evidence.limits.attacks[1]
    one = of_kind(found, "worst")
    rows, others = at(one, share)
    u, s, vt = np.linalg.svd(attack.gauge.right)
    equal = Gauge.linear(np.linalg.inv(u @ np.diag(s**share) @ vt).T).act(audited.model)
    assert np.abs(cosines(rows) - cosines(equal.right)).max() < 1e-12
    assert (
        np.abs(
            others @ rows.T + one.row_bias + found.offset - audited.model.scores()
        ).max()
        < 1e-12
    )
    assert np.isclose(
        np.exp(share * np.ptp(one.step)),
        attack.gauge.condition_number**share,
        rtol=1e-12,
    )
    assert re.fullmatch(
        r"The worst linear gauge found within κ = 2 was sought for \d+ item-item lists\.",
        one.claim,
    )


def test_shifts_are_those_of_all_rows_and_end_at_the_centre(shifted):
    found, model = explorer(shifted), shifted.model
    exponent, worst = of_kind(found, "exponent"), of_kind(found, "worst")
    mean, unit = (
        model.right.mean(axis=0),
        np.median(np.linalg.norm(model.right, axis=1)),
    )
    assert found.pad.unit == pytest.approx(unit)
    home = (-np.linalg.norm(mean) / unit, 0.0)
    assert exponent.home == pytest.approx(home)
    assert worst.home == (0.0, 0.0)
    assert np.linalg.norm(found.pad.directions, axis=1) == pytest.approx([unit, unit])
    assert abs(found.pad.directions[0] @ found.pad.directions[1]) < 1e-12
    rows, _ = at(worst, 0.0, home, found.pad.directions)
    assert np.abs(cosines(rows) - cosines(model.right - mean)).max() < 1e-12
    rows, _ = at(exponent, 0.3, home, found.pad.directions)
    assert np.abs(cosines(rows) - cosines(at_exponent(model, 0.3).right)).max() < 1e-12
    shift = (0.3, -0.2)
    rows, others = at(exponent, 0.0, shift, found.pad.directions)
    whitened = at_exponent(
        model.replace(right=model.right + shift @ found.pad.directions), 0.0
    )
    assert np.abs(others @ rows.T - others @ rows.mean(axis=0)[:, None] - (whitened.left @ whitened.right.T)
                  ).max() < 1e-10  # fmt: skip
    assert found.pad.reach >= -home[0]
    assert (
        np.abs(found.pad.points - model.right @ found.pad.directions.T / unit**2).max()
        < 1e-4
    )


def test_there_is_no_explorer_where_it_would_show_nothing_or_what_is_not_known(audited):
    line = ea.FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])
    assert explorer(ea.audit(line, n_gauges=1)) is None
    two = ea.FactorModel.from_user_item(np.eye(2), np.eye(2))
    assert explorer(ea.audit(two, n_gauges=1)) is None
    drift = tuple(
        replace(one, max_abs=1.0, tolerance=0.0) for one in audited.evidence.drift
    )
    assert (
        explorer(replace(audited, evidence=replace(audited.evidence, drift=drift)))
        is None
    )
    assert (
        explorer(ea.audit(random_model(link="softmax"), role="left", n_gauges=1))
        is None
    )


def test_the_page_allows_its_own_script_and_no_name_ends_its_data():
    names = ["</script><script>alert(1)</script>", "&amp;", *map(str, range(20))]
    audit = ea.audit(
        random_model(p=22).replace(right_names=np.array(names)), n_gauges=1
    )
    html = page(audit)
    assert html.count("<script") == html.count("</script>") == 2
    text = html.split('id="explorer-data">')[1].split("</script>")[0]
    assert text == held(explorer(audit))
    assert set(json.loads(text)["names"]) >= set(names[:2])
    allowed = re.search(r"script-src 'sha256-([^']+)'", html)[1]
    ran = html.split("<script>")[1].split("</script>")[0]
    assert b64decode(allowed) == sha256(ran.encode()).digest()
    assert ran == script()
    assert len(ran.encode()) < 60_000


def test_a_button_leads_to_each_demonstration(audited, head, shifted):
    def shows(audit):
        found = explorer(audit)
        kinds = [one.kind for one in found.families]
        return [
            (one.name, kinds[one.family], one.at, np.round(one.shift, 9).tolist())
            for one in found.shows
        ]

    assert shows(audited)[:3] == [
        ("Prediction cosine", "exponent", 0.0, [0, 0]),
        ("Balanced", "exponent", 0.5, [0, 0]),
        ("Worst stretch found", "worst", 1.0, [0, 0]),
    ]
    assert (
        shows(ea.audit(random_model(n=9, p=20, k=3), role="user", n_gauges=1))[0][2]
        == 1.0
    )
    for audit in (head, shifted):
        pad = explorer(audit).pad
        centred = np.round([-pad.mean / pad.unit, 0.0], 9).tolist()
        assert ("Mean row subtracted", "worst", 0.0, centred) in shows(audit)
    assert ("Final norm folded in", "folded", 1.0, [0, 0]) in shows(head)
    assert shows(head)[0] == ("Mean row subtracted", "worst", 0.0, centred_of(head))
    # What the answer speaks of comes first; where the mean row decides little, what does more.
    assert shows(shifted)[0][0] == "Mean row subtracted"
    centred = np.random.default_rng(0).normal(size=(40, 4))
    quiet = shows(
        ea.audit(
            ea.FactorModel.from_softmax(centred - centred.mean(axis=0) + 0.01),
            n_gauges=1,
        )
    )
    assert [name for name, *_ in quiet] == [
        "Worst stretch found",
        "Mean row subtracted",
    ]
    assert shows(head)[-1] == ("Folded and subtracted", "folded", 1.0, centred_of(head))
    rows, _ = at(
        of_kind(explorer(head), "folded"),
        1.0,
        centred_of(head),
        explorer(head).pad.directions,
    )
    model = head.model
    folded_and_centred = (model.right - model.right.mean(axis=0)) * GAIN
    assert np.abs(cosines(rows) - cosines(folded_and_centred)).max() < 1e-6


def centred_of(audit):
    pad = explorer(audit).pad
    return np.round([-pad.mean / pad.unit, 0.0], 9).tolist()
