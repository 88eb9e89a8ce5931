"""The explorer of a page, which moves a few hundred rows between equivalent models.

A family is a set of equivalent models that one slider runs through. It stretches each
axis of the rows at a rate of its own.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from json import dumps
from typing import Any

import numpy as np

from embaudit.auditing.audit import Audit
from embaudit.auditing.evidence import Evidence, with_probes
from embaudit.auditing.wording import Nouns, is_alone
from embaudit.auditing.words import words_for
from embaudit.canonical.distances import log_condition
from embaudit.canonical.equivalents import CanonicalModel
from embaudit.canonical.form import model_at
from embaudit.core.checked import Floats, Indices
from embaudit.core.plain import plain_dict
from embaudit.core.ties import first_best, largest_first
from embaudit.core.words import counted, cut, drawn_of
from embaudit.linalg.nearest import neighbours
from embaudit.model import OPPOSITE, Equivalence, FactorModel, SideName
from embaudit.movements.twins import twins
from embaudit.report.document import NAME, names_of
from embaudit.report.figures import shown_side

ROWS, OTHERS = 300, 100
"""Rows that are explored, and rows of the other side whose predictions are shown, at
most.
"""
NUMBERS = 24_000
"""Numbers of all families together, 260 KB as the page holds them, where that leaves
`LEAST` rows of either side.
"""
LEAST = (24, 8)
"""Rows of either side that are explored however wide they are."""
LISTED = 10
"""Neighbours that a list holds."""
FIRST = 20
"""Rows among which the one shown first is chosen."""
EXPONENT, STORED = "exponent", "stored"
"""Kinds of families: the canonical one, and the model as stored, which only a shift
moves.
"""
TASTE = (
    "Prediction cosines repeat what the model predicts; they can still be bad "
    "neighbours."
)
"""Next to the prediction cosines."""
STEPS = 40
"""Places of the slider of exponents; the condition number is known at each."""
FEW_STEPS, WIDE = 10, 256
"""The same above this rank, where each takes long."""
NOUNS = {
    "identity": "scores",
    "sigmoid": "probabilities",
    "softmax": "probabilities",
    "ranking": "leads",
}
"""Nouns for the predictions that are shown."""


@dataclass(frozen=True, eq=False)
class Family:
    """Equivalent models at the places t of a slider, from 0 to `high`.

    Their rows are `rows · exp(step (t − origin))` on the side that is explored and
    `other_rows · exp(−step (t − origin))` on the other side.
    """

    kind: str
    """"exponent" or "stored"."""
    rows: Floats
    """(m, d) the rows explored, at the origin."""
    other_rows: Floats
    """(n, d) those they are multiplied with."""
    row_bias: Floats
    """(m,) what is added to the scores of each row."""
    other_bias: Floats
    """(n,) the same of the others."""
    step: Floats
    """(d,) how fast each axis is stretched."""
    origin: float = 0.0
    high: float = 1.0
    start: float = 0.0
    """Position of the slider at first."""
    places: int = 100
    """Places of the slider between its ends."""
    stops: tuple[tuple[float, str], ...] = ()
    """Places with a name."""
    shows: tuple[tuple[float, str], ...] = ()
    """Places that a button leads to, and what it says."""
    kappas: tuple[float, ...] | None = None
    """κ between the model as stored and each place; None for the model as stored."""
    is_gauge: bool = True
    """True if a gauge leads there from the model at hand, so that exact ranges are
    known.
    """
    claim: str = ""
    """Sentence of the audit on this family."""
    basis: Floats | None = None
    """(k, d) the linear map from rows as stored; None for the identity."""
    home: tuple[float, float] = (0.0, 0.0)
    """Position of the shift at the origin."""


def families_of(
    evidence: Evidence,
    explored: FactorModel,
    side: SideName,
    centred: tuple[float, float] | None,
) -> tuple[Family, ...]:
    """Collect the canonical family, if the model has one, and the model as stored.

    Parameters
    ----------
    evidence : Evidence
    explored : FactorModel
        The rows of both sides that are explored.
    side : {"left", "right"}
    centred : (float, float), optional
        The shift that subtracts the mean row, if rows may be shifted: canonical forms
        have it subtracted.
    """
    stored = _family(STORED, explored, side, np.zeros(evidence.model.rank))
    exponents = None
    if evidence.model.left is not None:
        exponents = canonical(evidence, explored, side)
    if exponents is None:
        return (stored,)
    if centred is not None:
        exponents = replace(exponents, home=centred)
    return exponents, stored


def canonical(
    evidence: Evidence, explored: FactorModel, side: SideName
) -> Family | None:
    """Return the canonical family.

    Return None for a model of one side, and for a model that predicts cosines.
    """
    if evidence.position is None or evidence.model.predicts is Equivalence.COSINES:
        return None
    form = evidence.position.form
    logs = np.log(form.family.scales)
    places = STEPS if len(logs) <= WIDE else FEW_STEPS
    visited = [
        model for model in evidence.equivalents if isinstance(model, CanonicalModel)
    ]
    # From the exponent ½ to e one side is multiplied by s^(e − ½), and the other is
    # divided by it.
    return _family(
        EXPONENT,
        model_at(explored, 0.5, form),
        side,
        -logs if side == "right" else logs,
        origin=0.5,
        start=round(evidence.position.exponent * places) / places,
        places=places,
        stops=tuple((model.exponent, model.title_for(side)) for model in visited),
        # Where the other side is whitened, the cosines of this one are those of its
        # predictions.
        shows=(
            (0.0 if side == "right" else 1.0, "Prediction cosine"),
            (0.5, "Balanced"),
        ),
        claim=TASTE,
        kappas=tuple(
            float(np.exp(log_condition(form, float(e))))
            for e in np.linspace(0, 1, places + 1)
        ),
        is_gauge=form.is_full_rank,
        basis=form.maps(0.5)[side],
    )


def _family(
    kind: str, explored: FactorModel, side: SideName, step: Floats, **fields: Any
) -> Family:
    """Take the rows of both sides of a small model."""
    other = OPPOSITE[side]
    return Family(
        kind,
        np.asarray(explored.factors(side), dtype=np.float64),
        np.asarray(explored.factors(other), dtype=np.float64),
        _bias(explored, side),
        _bias(explored, other),
        step,
        **fields,
    )


def _bias(model: FactorModel, name: SideName) -> Floats:
    side = model.side(name)
    # A bias that the link does not see changes no prediction.
    if side.bias is None or not model.link.sees_biases:
        return np.zeros(len(side))
    return np.asarray(side.bias, dtype=np.float64)


def packed(numbers: Floats) -> dict[str, str]:
    """Write numbers as bytes in letters, in float32 where that loses nothing.

    Examples
    --------
    >>> packed(np.array([1.0])), packed(np.array([0.1]))["type"]
    ({'type': 'f4', 'data': 'AACAPw=='}, 'f8')
    """
    # What float32 cannot hold becomes infinite there, so it differs and stays float64.
    with np.errstate(over="ignore"):
        kind = (
            "f4" if np.array_equal(numbers.astype("f4").astype("f8"), numbers) else "f8"
        )
    return {
        "type": kind,
        "data": b64encode(numbers.astype(f"<{kind}").tobytes()).decode(),
    }


@dataclass(frozen=True, eq=False)
class Pad:
    """Shifts of the origin along two directions, in lengths of the median row."""

    directions: Floats
    """(2, k) of the length of a typical row; the first is that of the mean row."""
    reach: float
    """How far either goes."""
    mean: float
    """Length of the mean row."""
    points: Floats
    """(m, 2) the rows explored, seen along the two."""
    unit: float
    """Length of a typical row."""

    @classmethod
    def around_mean(
        cls, model: FactorModel, explored: FactorModel, side: SideName
    ) -> Pad:
        """Choose the direction of the mean row, and a direction orthogonal to it.

        The second direction has the largest variance of the explored rows.
        """
        unit = model.side(side).median_length
        centre = np.asarray(model.side(side).moments.mean, dtype=np.float64)
        rows = np.asarray(explored.factors(side), dtype=np.float64)
        mean = float(np.linalg.norm(centre))
        if mean <= 1e-9 * unit:
            # The mean row consists of rounding only, so it has no direction.
            mean = 0.0
        spread = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2]
        # Without a mean row the first direction is that of the largest spread.
        along = centre / mean if mean else spread[0]
        # Of the two directions of largest spread, one is far from the mean row; its
        # part across that is the second.
        across = first_best(
            [direction - (direction @ along) * along for direction in spread[:2]],
            lambda direction: float(np.linalg.norm(direction)),
        )
        # In one dimension nothing lies across, and the zeros stay.
        across /= np.linalg.norm(across) or 1.0
        directions = np.stack([along, across])
        # A quarter beyond the mean row, so that its subtraction lies well within the
        # pad; rounded up to a tenth.
        reach = float(np.ceil(10 * max(1.0, 1.25 * mean / unit)) / 10)
        return cls(
            directions * unit, reach, mean, (rows @ directions.T / unit).round(4), unit
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what the script reads."""
        # Points are packed into text, which the browser reads faster than numbers.
        return {
            "reach": self.reach,
            "mean": self.mean,
            "unit": self.unit,
            "points": packed(self.points),
        }

    @property
    def centred(self) -> tuple[float, float]:
        """The shift that subtracts the mean row."""
        return -self.mean / self.unit, 0.0


@dataclass(frozen=True)
class Show:
    """An equivalent model that a button leads to."""

    name: str
    """Text of the button."""
    family: int
    """Number of the family."""
    at: float
    """Position of its slider."""
    shift: tuple[float, float]
    """Along the directions of the pad."""


@dataclass(frozen=True, eq=False)
class Explorer:
    """A few hundred rows of a model in each of its families."""

    title: str
    """Noun for one of the rows explored."""
    other_title: str
    """The same of the others."""
    total: int
    """Rows that the model has."""
    names: tuple[str, ...]
    other_names: tuple[str, ...]
    drawn: bool
    """True if the other rows are drawn at random, since none are at hand."""
    link: str
    soft_cap: float | None
    unit: tuple[bool, bool]
    """True where the link divides rows by their lengths: the rows explored, and the
    others.
    """
    offset: float
    families: tuple[Family, ...]
    pad: Pad | None
    first: tuple[int, int]
    """The rows shown first."""
    listed: int
    shows: tuple[Show, ...]
    """Equal models that a button leads to."""
    tolerance: float
    """Largest change of a prediction that rounding explains."""

    def to_dict(self) -> dict[str, Any]:
        """Return what the script of the page reads."""
        # Families are written with shifts in their own axes, which depend on the pad.
        return plain_dict(
            {
                "names": self.names,
                "other_names": self.other_names,
                "link": self.link,
                "soft_cap": self.soft_cap,
                "unit": self.unit,
                "offset": self.offset,
                "pad": self.pad,
                "first": self.first,
                "listed": self.listed,
                "shows": self.shows,
                "tolerance": self.tolerance,
                "families": [self._family(family) for family in self.families],
            }
        )

    def _family(self, family: Family) -> dict[str, Any]:
        """Return a family, with the directions of shifts in its own axes."""
        shifts = (
            np.zeros((2, len(family.step))) if self.pad is None else self.pad.directions
        )
        # Shifts are added to rows in the axes of the family, which are not those of the
        # stored rows.
        if self.pad is not None and family.basis is not None:
            shifts = shifts @ family.basis
        return plain_dict(
            {
                "kind": family.kind,
                "origin": family.origin,
                "high": family.high,
                "start": family.start,
                "places": family.places,
                "is_gauge": family.is_gauge,
                "home": family.home,
                "stops": family.stops,
                "kappas": family.kappas,
                "rows": packed(family.rows),
                "other_rows": packed(family.other_rows),
                "row_bias": packed(family.row_bias),
                "other_bias": packed(family.other_bias),
                "step": packed(family.step),
                "shifts": packed(shifts),
            }
        )


def explorer(audit: Audit) -> Explorer | None:
    """Collect the rows and families that a page explores.

    Return None if no family or shift moves a cosine, or if there are too few rows.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(9, 3)), draw.normal(size=(20, 3))
    >>> model = FactorModel.from_user_item(users, items)
    >>> found = explorer(audit(model, n_gauges=1))
    >>> [one.kind for one in found.families], len(found.names), len(found.other_names)
    (['exponent', 'stored'], 20, 9)
    """
    evidence, model, side = audit.evidence, audit.evidence.model, shown_side(audit)
    other, drawn = OPPOSITE[side], model.left is None
    # Probabilities and orders are those of right rows within a left one.
    able = model.compared is None and (
        side == "right" or model.link.name in ("identity", "sigmoid")
    )
    if (
        not able
        or not audit.predictions_hold
        or (model.rank == 1 and not model.free_shifts)
    ):
        return None
    # Each family holds the rows once more: a model of both sides as stored, and at
    # exponents.
    n_rows, n_others = how_many(model.rank, families=1 if drawn else 2)
    # Left rows that are not at hand are drawn.
    rng = np.random.default_rng(evidence.seed)
    whole = with_probes(model, rng) if drawn else model
    others = np.arange(n_others) if drawn else chosen_rows(model, other, n_others, rng)
    chosen = chosen_rows(model, side, n_rows, rng)
    explored = whole.take(**{side: chosen, other: others})
    n_explored, n_other = len(explored.side(side)), len(explored.side(other))
    # Each of two rows has one neighbour, which no change replaces.
    if n_explored < 3:
        return None
    pad = Pad.around_mean(model, explored, side) if side in model.free_shifts else None
    centred = None if pad is None else pad.centred
    families = families_of(evidence, explored, side, centred)
    if pad is None and families[0].kind == STORED:
        return None
    title = "state" if drawn and model.link.name == "softmax" else model.title(other)
    random = tuple(f"random {title} {i + 1}" for i in range(n_other))
    return Explorer(
        title=cut(model.title(side), NAME),
        other_title=cut(title, NAME),
        total=len(audit.model.side(side)),
        # Rows without names are called by their numbers in the whole model.
        names=tuple(names_of(whole, side, chosen)),
        other_names=random if drawn else tuple(names_of(whole, other, others)),
        drawn=drawn,
        link=model.link.name,
        soft_cap=model.link.soft_cap,
        unit=(side in model.link.unit_sides, other in model.link.unit_sides),
        offset=model.offset if model.link.sees_biases else 0.0,
        families=families,
        pad=pad,
        first=_first(explored, side, families[0], min(LISTED, n_explored - 1)),
        listed=min(LISTED, n_explored - 1),
        shows=tuple(_shows(audit, families, pad)),
        tolerance=max((drift.tolerance for drift in evidence.drift), default=0.0),
    )


def how_many(rank: int, families: int) -> tuple[int, int]:
    """Return how many rows of either side there is room for.

    Examples
    --------
    >>> how_many(32, 2), how_many(512, 2), how_many(4096, 1)
    ((281, 93), (24, 8), (24, 8))
    """
    # Three quarters of the rows go to the side explored, whose neighbours are listed;
    # predictions need fewer others.
    room = NUMBERS // (max(rank, 1) * max(families, 1))
    return max(LEAST[0], min(ROWS, 3 * room // 4)), max(
        LEAST[1], min(OTHERS, room // 4)
    )


def chosen_rows(
    model: FactorModel, role: SideName, most: int, rng: np.random.Generator
) -> Indices:
    """Choose the rows with most interactions, or random rows without counts.

    Duplicates and rows that were set aside are skipped.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> rows = [[1.0, 0.0], [0.0, 3.0], [2.0, 2.0], [4.0, 4.0], [0.0, 0.0]]
    >>> model = FactorModel.from_vectors(rows)
    >>> chosen_rows(model, "right", 3, np.random.default_rng(0))
    array([0, 1, 2])
    """
    side = model.side(role)
    # The longest would not do: what moves an origin moves them least.
    weight = (
        rng.random(len(side))
        if side.counts is None
        else np.asarray(side.counts, dtype=np.float64)
    )
    # The first of a group of duplicates stands for all: a list of copies would tell
    # nothing.
    alone = twins(model, role=role).first == np.arange(len(side))
    able = side.eligible_rows[(alone & (side.norms > 0))[side.eligible_rows]]
    # Chosen by weight, then put back in the order of the model.
    return np.sort(able[largest_first(weight[able])[:most]])


def _shows(
    audit: Audit, families: tuple[Family, ...], pad: Pad | None
) -> Iterator[Show]:
    """Yield the buttons: the named places of families, and the mean row subtracted.

    The mean row comes first if the audit of a head is about it.
    """
    named = [
        Show(name, index, at, family.home)
        for index, family in enumerate(families)
        for at, name in family.shows
    ]
    if pad is None or not pad.mean:
        yield from named
        return
    # The mean row is subtracted from the model as stored, which is the last family.
    subtracted = Show("Mean row subtracted", len(families) - 1, 0.0, pad.centred)
    if audit.head is not None and audit.head.origin_matters:
        yield subtracted
        yield from named
    else:
        yield from named
        yield subtracted


def _first(
    explored: FactorModel, side: SideName, family: Family, n: int
) -> tuple[int, int]:
    """Choose the two rows that are shown first.

    The first is a well-known row whose neighbours change most at the far end of the
    family, and the second is one of the neighbours that it loses.
    """
    counts = explored.side(side).counts
    weight = explored.side(side).norms if counts is None else counts
    # Among rows that a reader is likely to know: those with most interactions, or the
    # longest.
    queries = np.sort(largest_first(weight)[:FIRST])
    # The end further from where the slider starts, as lists are likely to change most
    # there.
    far_end = 0.0 if family.start > family.high - family.start else family.high
    far = family.rows * np.exp(family.step * (far_end - family.origin))
    before, after = (
        neighbours(explored.factors(side), n, rows=queries),
        neighbours(far, n, rows=queries),
    )
    stays = before.kept_in(after)
    at = int(np.argmin(stays.sum(axis=1)))
    gone = np.flatnonzero(~stays[at])
    # Where no neighbour goes, the nearest one is shown.
    return int(queries[at]), int(before.indices[at, gone[0] if len(gone) else 0])


@cache
def script() -> str:
    """Read the script that computes in the page."""
    return (
        files("embaudit.report")
        .joinpath("templates/explorer.js")
        .read_text(encoding="utf-8")
    )


def explorer_parts(audit: Audit) -> dict[str, Any]:
    """Return the values that the template of the explorer shows.

    The page allows the script of the explorer and no other.
    """
    explored, model = explorer(audit), audit.evidence.model
    if explored is None:
        return {"explorer": None, "allowed": ""}
    side, n_others = shown_side(audit), len(explored.other_names)
    few = drawn_of(len(explored.names), explored.total, explored.title)
    which = (
        "drawn at random"
        if model.side(side).counts is None
        else "those with most interactions"
    )
    within = "among" if explored.link in ("softmax", "ranking") else "for"
    inputs = f"{counted(n_others, explored.other_title)} drawn at random"
    if not explored.drawn:
        inputs = drawn_of(
            n_others, len(model.side(OPPOSITE[side])), explored.other_title
        )
    noun = "scores" if is_alone(audit.model) else NOUNS.get(explored.link, "scores")
    gauge, shown = (
        words_for(Nouns.from_model(audit.model))["gauge"].meaning,
        ("pinned", "undecided", "one_side", "not_searched"),
    )
    sentences = [
        conclusion.text
        for conclusion in audit.conclusions
        if conclusion.code in shown and conclusion.role in (None, audit.evidence.role)
    ]
    # A browser runs a script only if its digest is the one that the page allows, so
    # nothing within a name can run.
    digest = b64encode(sha256(script().encode()).digest()).decode()
    return {
        "explorer": explored,
        "sides": model.roles,
        "few": few,
        "which": which if len(explored.names) < explored.total else "",
        "noun": noun,
        "heading": Nouns.from_model(audit.model).predictions.capitalize(),
        "explained": (
            f"Each setting is a gauge: {gauge[0].lower()}{gauge[1:]}",
            *sentences,
        ),
        "of_which": f"{noun.capitalize()} of {inputs}, {within} {few}.",
        "held": held(explored),
        "script": script(),
        "allowed": f"; script-src 'sha256-{digest}'",
    }


def held(explored: Explorer) -> str:
    r"""Write numbers and names so that no name ends the element they stand in.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> rows, labels = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["</script>", "b", "c"]
    >>> model = FactorModel.from_softmax(rows, labels=labels)
    >>> "\\u003c/script\\u003e" in held(explorer(audit(model)))
    True
    """
    text = dumps(explored.to_dict(), ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
