"""Findings about what rows are like: their full texts, both sides of every threshold, and when they are silent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made import HEAD, head, of_head, quiet
from scipy.sparse import csr_matrix

from embaudit import FactorPenaltyMF, ProductPenaltyMF, load
from embaudit.auditing.checks import OF_TRAITS, findings
from embaudit.auditing.claims.claim import Kind
from embaudit.auditing.evidence import Evidence, gather
from embaudit.auditing.fibre import fibre_of
from embaudit.auditing.finding import Severity
from embaudit.auditing.traits import Traits, all_traits, traits_of
from embaudit.model import FactorModel
from embaudit.movements.common_direction import CommonDirection
from embaudit.movements.few_coordinates import FewCoordinates
from embaudit.movements.hubs import Hubs
from embaudit.movements.nearest_changed import NearestChanged
from embaudit.movements.rounding import Rounding
from embaudit.movements.row_lengths import LengthTrend
from embaudit.movements.tail import Kept, Tail
from tests.models import random_model

ITEMS = random_model(0, n=20, p=40, k=20)
ALONE = random_model(0, n=None, p=40, k=20)
CHANGED = NearestChanged(0.25, 0.2, 0.3, 400)


def evidence_of(model=ITEMS, role="right", **traits):
    """Evidence of which nothing but some traits was measured."""
    traits = Traits(role, 1234, 0.5, False, **traits)
    return Evidence(model, fibre_of(model, ("right",)), traits=(traits,))


def found_in(evidence):
    return findings(evidence, OF_TRAITS)


HERE = "the model at hand"
CLAIMED = {
    "EMB402": ("tail", "lists", "linear 2", "traits"),
    "EMB403": ("common-direction", "rows", HERE, "traits"),
    "EMB404": ("hubs", "lists", HERE, "traits"),
    "EMB405": ("lengths", "rows", HERE, "traits"),
    "EMB406": ("few-dimensions", "cosines", "the stored basis", "traits"),
    "EMB407": ("constant", "rows", HERE, "model"),
    "EMB408": ("rounding", "rows", "rows stored as these are", "traits"),
}
"""What the claim behind a finding is called, which rows, lists or cosines it is about, where, and from what."""


def only(evidence):
    """The one finding: its code, title, explanation, remedy and number; its claim is the one of its code."""
    (found,) = found_in(evidence)
    assert found.severity is Severity.TIP
    claim, role = found.claim, evidence.traits[0].role
    name, of, where, source = CLAIMED[found.code]
    assert (claim.kind, claim.name, claim.scope.whole) == (Kind.MEASURED, f"{name}:{role}", False)
    assert (claim.subject, claim.scope.models, claim.evidence) == (f"{evidence.model.title(role)} {of}", where, source)
    return found.code, found.title, found.explanation, found.remedy, found.value


def direction(mean):
    return CommonDirection(mean, 0.8, CHANGED)


SEEN = "The mean row is 0.8 of a typical row (median) long. Without it, 25 % of 400 items have another nearest one. "


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (ITEMS, "Removing it adds a number to all scores of each user, so it would make another model."),
        (
            random_model(0, n=20, p=40, biases=("left_bias",)),
            "Removing it changes no score, so either list is as good.",
        ),
        (random_model(0, n=20, p=40, link="ranking"), "Removing it changes no ranking, so either list is as good."),
        (
            random_model(0, n=20, p=40, link="cosine"),
            "Removing it changes the predicted cosines, so it would make another model.",
        ),
        (ALONE, "Removing it makes other vectors: then cosines compare what is left of two items."),
    ],
)
def test_emb403_says_whether_centring_is_a_gauge(model, says):
    assert only(evidence_of(model, direction=direction(0.64))) == (
        "EMB403",
        "any two items have cosine 0.64 on average, so a high one says less",
        SEEN + says,
        "Read a cosine against those of random items, not against 0.",
        0.64,
    )


@pytest.mark.parametrize(("shift", "code"), [(3.0, "EMB301"), (0.0, None)])
def test_emb403_is_not_repeated_of_a_head_whose_origin_matters(shift, code):
    rows = np.random.default_rng(0).standard_normal((40, 6))
    model = FactorModel.from_softmax(rows - rows.mean(axis=0) + shift)
    evidence = gather(model, n_gauges=1, n_pairs=50, roles=["right"])
    told = [found.code for found in findings(evidence) if found.code in ("EMB301", "EMB403")]
    assert told == ([code] if code else [])
    assert (evidence.traits[0].direction.mean_cosine > 0.5) == (code is not None)


def test_emb403_is_told_of_inputs_whatever_the_origin_of_the_labels_does():
    inputs = HEAD.replace(left=np.eye(3))
    traits = [Traits(role, 1234, 0.5, False, direction=direction(0.64)) for role in ("right", "left")]
    for found, told in ((head(inputs), ["left"]), (quiet(model=inputs), ["right", "left"])):
        evidence = of_head(found, traits=tuple(traits))
        assert [finding.claim.role for finding in found_in(evidence)] == told
    assert found_in(evidence)[0].explanation == (
        SEEN.replace("items", "labels") + "Removing it changes no probability, so either list is as good."
    )


def crowd(filled, few=(4, 7, 9, 11)):
    return Hubs(400, 10, 7.25, few, (0.9, 0.5, 0.25, 0.1), filled)


def test_emb404_names_three_hubs():
    model = ALONE.replace(right_names=[f"film {row}" for row in range(39)] + [" "])
    assert only(evidence_of(model, hubs=crowd(0.12))) == (
        "EMB404",
        "4 items of 1,234 fill 12 % of the lists",
        "Of the lists of 400 items, the 10 nearest each, film 4 in 90 %, film 7 in 50 %, film 9 in 25 %. "
        "How often each item occurs has a skewness of 7.2.",
        "Discount them: what is near to everything says little by being near. Centring often weakens hubs.",
        0.12,
    )
    assert only(evidence_of(hubs=crowd(0.12, (3,))))[1] == "1 item of 1,234 fills 12 % of the lists"


def test_emb404_tells_of_lists_without_copies_too():
    (found,) = found_in(evidence_of(hubs=crowd(0.12, (3,)), hubs_without_twins=replace(crowd(0.07), skewness=1.25)))
    assert found.explanation.endswith(
        "has a skewness of 7.2. With copies counted once, so few fill 7 %, and it is 1.2."
    )
    assert found.value == 0.12


@pytest.mark.parametrize(
    ("known", "rho", "title", "which"),
    [
        ("counts", 0.97, "the more interactions, the longer the item row, and cosines do not see it", "interactions"),
        ("bias", -0.97, "the larger the bias, the shorter the item row, and cosines do not see it", "bias"),
    ],
)
def test_emb405_says_what_lengths_follow(known, rho, title, which):
    assert only(evidence_of(lengths=LengthTrend(known, rho, 1234))) == (
        "EMB405",
        title,
        f"The rank correlation of length and {which} is {rho:.2f} over 1,234 items. "
        "A cosine divides by the length, so none of this is left in it.",
        "Rank by the dot product where it should count.",
        rho,
    )


def test_emb406_names_columns_and_says_of_which_basis():
    assert only(evidence_of(dimensions=FewCoordinates((3, 11), 0.91, CHANGED, 0.95))) == (
        "EMB406",
        "2 dimensions carry 91 % of the item cosines",
        "Columns 3 and 11 of 20, counted from 0: without, 25 % of 400 items have another nearest one. A rotation "
        "would spread it over all columns and change no cosine; the 2 strongest principal axes would still carry 95 %.",
        "Look who is near without them. Dropping or rescaling columns changes what a cosine means.",
        0.91,
    )
    one = only(evidence_of(dimensions=FewCoordinates((3,), 0.91, CHANGED, 0.95)))
    assert one[1] == "1 dimension carries 91 % of the item cosines"
    assert one[2].startswith("Column 3 of 20, counted from 0: without, 25 % of 400 items have another nearest")
    assert one[2].endswith("and change no cosine; the 1 strongest principal axis would still carry 95 %.")
    drawn = only(evidence_of(dimensions=FewCoordinates((3,), 0.91, CHANGED, 0.95, 16_384)))
    assert drawn[2] == one[2] + " Shares are estimated from 16,384 items."


def test_emb407_tells_what_vectors_alone_have_in_common():
    rows = np.column_stack([np.random.default_rng(0).standard_normal((12, 3)), np.full(12, 2.5)])
    model = FactorModel.from_vectors(rows)
    assert only(evidence_of(model)) == (
        "EMB407",
        "something is the same in every item row",
        "Column 3 is 2.5 in every row. In a dot product it makes a number that is the same for all items, as a bias "
        "does. Cosines count it as a likeness of any two.",
        "Leave it out before taking cosines, if it was a bias.",
        pytest.approx(2.5, rel=1e-12),
    )
    turned = FactorModel.from_vectors(rows @ np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0])
    assert only(evidence_of(turned))[2].startswith("A mixture of columns is 2.5 in every row.")


def test_emb407_is_silent_where_nothing_is_constant_or_both_sides_are_at_hand():
    rows = np.column_stack([np.random.default_rng(0).standard_normal((12, 3)), np.full(12, 2.5)])
    almost = rows + 1e-9 * np.arange(12)[:, None]
    assert found_in(evidence_of(FactorModel.from_vectors(almost))) == ()
    assert found_in(evidence_of(FactorModel.from_user_item(rows, rows))) == ()


@pytest.mark.parametrize(("share", "codes"), [(0.05, 1), (0.0499, 0)])
def test_emb408_from_a_twentieth_of_the_nearest_rows(share, codes):
    redrawn = Rounding("float16 numbers", NearestChanged(share, 0.0, 0.1, 400))
    assert len(found_in(evidence_of(rounding=redrawn))) == codes


def exact(share):
    return Kept(share, share, share, 40)


def tail_of(known="counts", over_all=0.94, frequent=0.83, weighted=0.9):
    return Tail(known, 10, 1234, 321, exact(over_all), exact(frequent), exact(weighted))


def test_emb402_tells_the_three_figures():
    code, title, text, remedy, value = only(evidence_of(tail=tail_of(), equal="linear 2"))
    assert (code, value) == ("EMB402", pytest.approx(0.11))
    assert title == "an equal model changes 6 % of 10 nearest; 17 % for frequent items"
    assert text == (
        "In one equal model (linear 2) 6 % of the 10 nearest change over all items. "
        "It is 17 % for 321 items with 5 interactions or more, and 10 % weighted by interactions."
    )
    assert remedy == (
        "Judge the items that you ask about: `--show NAME` lists their neighbours, and the figure over all items is "
        "another one."
    )
    assert found_in(evidence_of(tail=tail_of(), equal="linear 2"))[0].claim.scope.models == "linear 2"


def test_emb402_tells_of_lists_without_copies_too():
    once = tail_of("counts", 0.9, 0.8, 0.7)
    _, title, text, *_ = only(evidence_of(tail=tail_of(weighted=0.8), tail_without_twins=once, equal="linear 2"))
    assert title == "an equal model changes 10 % of 10 nearest; 30 % weighted by use"
    assert text == (
        "In one equal model (linear 2), with copies counted once, 10 % of the 10 nearest change over all items. It is "
        "20 % for 321 items with 5 interactions or more, and 30 % weighted by interactions. With all copies these are "
        "6 %, 17 % and 20 %."
    )


def test_emb402_says_that_length_stands_for_counts():
    _, title, text, *_ = only(evidence_of(tail=tail_of("length", 0.5, 0.55, 0.7), equal="linear 2"))
    assert title == "an equal model changes 50 % of 10 nearest; 30 % weighted by length"
    assert text.endswith(
        "It is 45 % for 321 items of at least median length, and 30 % weighted by row length (no counts are known)."
    )


@pytest.mark.parametrize(
    ("frequent", "weighted", "codes"), [(0.3999, 0.5, 1), (0.4001, 0.5, 0), (0.5, 0.6001, 1), (0.5, 0.5999, 0)]
)
def test_emb402_from_a_difference_of_a_tenth_either_way(frequent, weighted, codes):
    assert len(found_in(evidence_of(tail=tail_of("counts", 0.5, frequent, weighted), equal="linear 2"))) == codes
    assert found_in(evidence_of(tail=tail_of("counts", 0.0, 0.1, 0.0), equal="linear 2"))


@pytest.mark.parametrize(("low", "gap"), [(0.56, 0.2), (0.54, 0.0)])
def test_the_gap_counts_where_intervals_are_apart(low, gap):
    found = Tail("counts", 10, 99, 9, Kept(0.5, 0.45, 0.55, 40), exact(0.5), Kept(0.7, low, 0.8, 40))
    assert found.gap == pytest.approx(gap)
    assert replace(found, weighted=Kept(0.3, 0.2, 1 - low - 0.0, 40)).gap == pytest.approx(gap)


def test_lists_are_as_long_as_asked_and_leave_a_row_out():
    model = random_model(0, n=None, p=100)
    rng = np.random.default_rng(0)
    (usual,) = all_traits(model, ("right",), rng=rng)
    assert usual.hubs.top_n == 10
    assert traits_of(model, "right", n_neighbours=200, rng=rng).hubs.top_n == 98
    assert traits_of(model, "right", rng=rng).hubs.top_n == 10


def test_copies_and_levels_do_not_depend_on_what_was_drawn_before(monkeypatch):
    for name in ("twins", "levels"):
        monkeypatch.setattr(f"embaudit.auditing.traits.{name}", lambda model, role, rng=0: (role, rng))
    for seed in (0, 1):
        found = traits_of(random_model(p=8), "right", rng=np.random.default_rng(seed))
        assert [found.twins, found.levels] == [("right", 0)] * 2


@pytest.mark.parametrize(("off", "unit"), [(9e-4, True), (-9e-4, True), (1.1e-3, False)])
def test_unit_rows_are_so_within_a_thousandth(off, unit):
    x = np.random.default_rng(0).standard_normal((9, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[2] *= 1 + off
    found = traits_of(FactorModel.from_vectors(np.vstack([x, np.zeros(3)])), "right", rng=np.random.default_rng(0))
    assert found.is_unit == unit
    assert found.off_unit == pytest.approx(abs(off), rel=1e-9)


@pytest.mark.parametrize(("stretch", "rows", "orthonormal"), [(1.0009, 9, True), (1.0011, 9, False), (1, 3, False)])
def test_orthonormal_columns_are_so_within_a_thousandth_and_need_more_rows(stretch, rows, orthonormal):
    x = 7 * np.linalg.qr(np.random.default_rng(0).standard_normal((rows, 3)))[0] * [1, stretch, 1]
    found = traits_of(FactorModel.from_vectors(x), "right", rng=np.random.default_rng(0))
    assert found.orthonormal == orthonormal


def told(model):
    """Codes of what the rows of both sides are like, apart from what needs an equal model."""
    evidence = Evidence(
        model, fibre_of(model, ("right",)), traits=all_traits(model, model.sides, rng=np.random.default_rng(0))
    )
    return {found.code for found in found_in(evidence)}


@pytest.mark.parametrize(("p", "k"), [(500, 8), (2000, 50), (300, 100), (120, 400)])
def test_random_rows_are_like_nothing(p, k):
    assert told(random_model(1, n=40, p=p, k=k)) == set()
    assert told(random_model(2, n=None, p=p, k=k, dtype=np.float32)) == set()


@pytest.mark.parametrize("objective", [FactorPenaltyMF, ProductPenaltyMF])
def test_factors_of_movielens_are_copies_of_each_other_and_like_nothing_else(shared_data, objective):
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    rows, columns = (ratings[name].astype("category").cat.codes for name in ("userId", "movieId"))
    matrix = csr_matrix((ratings["rating"], (rows, columns)))
    model = objective(50, alpha=5.0, random_state=0).fit(matrix).model(matrix)
    assert told(model.replace(left_counts=np.bincount(rows), right_counts=np.bincount(columns))) == {"EMB401"}


@pytest.mark.parametrize("name", ["heads-charrnn/shakespeare", "heads-charrnn/charlotte_bronte", "head-doodlenet-345"])
def test_real_heads_are_like_nothing(shared_data, name):
    assert told(load(shared_data(name) / "head.npz")) == set()
