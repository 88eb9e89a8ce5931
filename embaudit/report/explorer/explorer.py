"""Explorer: what the page of an audit computes with, as plain values that JSON holds."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.evidence import with_probes
from embaudit.auditing.findings.heads import origin_matters
from embaudit.core.plain import plain
from embaudit.core.words import cut
from embaudit.linalg.nearest import neighbours
from embaudit.model import OPPOSITE, Softmax
from embaudit.report.audit_tables import shown_side
from embaudit.report.explorer.chosen import LONGEST, chosen_rows, how_many, names_of
from embaudit.report.explorer.family import EXPONENT, Family, canonical, folded, found_attack, rotation, stored, worst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit
    from embaudit.core.checked import Floats, Indices
    from embaudit.model import FactorModel, SideName

LISTED = 10
"""Neighbours that a list holds."""
FIRST = 20
"""Rows among which the one shown first is chosen."""


@dataclass(frozen=True, eq=False)
class Pad:
    """Places of the origin of the rows: shifts along two directions, in typical (median) row lengths."""

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


@dataclass(frozen=True)
class Show:
    """An equal model that a button leads to."""

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
    """A few hundred rows of a model, in the families of equal models that sliders run through."""

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
    """True where the link divides rows by their lengths: the rows explored, and the others."""
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
        """Return what the page holds."""
        direct = ("title", "other_title", "drawn", "link", "soft_cap", "offset", "listed", "total", "tolerance")
        return dict(
            plain(
                {
                    **{name: getattr(self, name) for name in direct},
                    "names": list(self.names),
                    "other_names": list(self.other_names),
                    "unit": list(self.unit),
                    "first": list(self.first),
                    "shows": [{**vars(each), "shift": list(each.shift)} for each in self.shows],
                    "families": [_family(each, self.pad) for each in self.families],
                    "pad": None if self.pad is None else _pad(self.pad),
                }
            )
        )


def packed(numbers: Floats) -> dict[str, str]:
    """Write numbers as bytes in letters, in float32 where that loses nothing.

    Examples
    --------
    >>> packed(np.array([1.0])), packed(np.array([0.1]))["type"]
    ({'type': 'f4', 'data': 'AACAPw=='}, 'f8')
    """
    with np.errstate(over="ignore"):
        kind = "f4" if np.array_equal(numbers.astype("f4").astype("f8"), numbers) else "f8"
    return {"type": kind, "data": b64encode(numbers.astype(f"<{kind}").tobytes()).decode()}


def _family(family: Family, pad: Pad | None) -> dict[str, Any]:
    """Return a family as the script of the page reads it."""
    arrays = ("rows", "other_rows", "row_bias", "other_bias", "step")
    direct = ("kind", "origin", "low", "high", "start", "places", "is_gauge", "claim")
    shifts = np.zeros((2, len(family.step))) if pad is None else _along(pad.directions, family)
    return {
        **{name: getattr(family, name) for name in direct},
        **{name: packed(getattr(family, name)) for name in arrays},
        "shifts": packed(shifts),
        "home": list(family.home),
        "stops": [list(stop) for stop in family.stops],
        "kappas": None if family.kappas is None else list(family.kappas),
    }


def _along(directions: Floats, family: Family) -> Floats:
    return directions if family.basis is None else directions @ family.basis


def _pad(pad: Pad) -> dict[str, Any]:
    return {"reach": pad.reach, "mean": pad.mean, "unit": pad.unit, "points": packed(pad.points)}


def explorer(audit: Audit) -> Explorer | None:
    """Collect what a page needs to move between equal models; None where there is nothing to move or to show.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.normal(size=(9, 3)), draw.normal(size=(20, 3)))
    >>> found = explorer(audit(model, n_gauges=1))
    >>> [one.kind for one in found.families], len(found.names), len(found.other_names)
    (['exponent', 'worst'], 20, 9)
    """
    model, side = audit.evidence.model, shown_side(audit)
    # Probabilities and orders are those of right rows within a left one.
    able = model.compared is None and (side == "right" or model.link in ("identity", "sigmoid", "cosine"))
    if not able or not audit.predictions_hold or (model.rank == 1 and not model.free_shifts):
        return None
    some = _chosen(audit, model, side)
    if len(some.side(side)) < 3:
        return None
    pad = _pad_of(model, some, side) if side in model.free_shifts else None
    families = _families(audit, some, side, pad)
    return _explorer(audit, some, side, pad, families)


def _chosen(audit: Audit, model: FactorModel, side: SideName) -> FactorModel:
    """Take some rows of both sides; left rows that are not at hand are drawn."""
    kinds = (model.left is not None, found_attack(audit.evidence, side) is not None, audit.evidence.norm is not None)
    most, n_others = how_many(model.rank, max(1, sum(kinds)))
    other = OPPOSITE[side]
    if model.left is None:
        probed = with_probes(model, np.random.default_rng(audit.evidence.seed))
        rows: dict[str, Indices] = {"right": chosen_rows(model, side, most), "left": np.arange(n_others)}
        return probed.take(**rows)
    return model.take(**{side: chosen_rows(model, side, most), other: chosen_rows(model, other, n_others)})


def _families(audit: Audit, some: FactorModel, side: SideName, pad: Pad | None) -> tuple[Family, ...]:
    """Collect the families that move something: exponents, the worst gauge, the final norm, else one control."""
    evidence = audit.evidence
    exponents = canonical(audit, some, side) if evidence.model.left is not None else None
    if exponents is not None and pad is not None:
        exponents = replace(exponents, home=(-pad.mean / pad.unit, 0.0))
    at_hand = [each for each in (worst(evidence, some, side), folded(evidence, some, side)) if each is not None]
    if not at_hand and exponents is None and pad is None:
        at_hand = [rotation(evidence.model, some, side)]
    elif not at_hand:
        at_hand = [stored(evidence.model, some, side)]
    return (*((exponents,) if exponents is not None else ()), *at_hand)


def _pad_of(model: FactorModel, some: FactorModel, side: SideName) -> Pad:
    """Shift along the mean row, and across it where the rows spread most."""
    unit, centre = model.side(side).median_length, np.asarray(model.side(side).outline.mean, dtype=np.float64)
    rows = np.asarray(some.factors(side), dtype=np.float64)
    length = float(np.linalg.norm(centre))
    spread = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2]
    along = centre / length if length > 1e-9 * unit else spread[0]
    across = max(spread[:2], key=lambda each: float(np.linalg.norm(each - (each @ along) * along)))
    across = across - (across @ along) * along
    across /= np.linalg.norm(across) or 1.0
    directions = np.stack([along, across])
    points = rows @ directions.T / unit
    mean = length if length > 1e-9 * unit else 0.0
    reach = float(np.ceil(10 * max(1.0, 1.25 * mean / unit)) / 10)
    return Pad(directions * unit, reach, mean, points.round(4), unit)


def _explorer(
    audit: Audit, some: FactorModel, side: SideName, pad: Pad | None, families: tuple[Family, ...]
) -> Explorer:
    """Put names, nouns and the link of the model beside its families."""
    model, drawn = audit.evidence.model, audit.evidence.model.left is None
    other = OPPOSITE[side]
    title = "state" if drawn and isinstance(model.link, Softmax) else model.title(other)
    n = min(LISTED, len(some.side(side)) - 1)
    random = tuple(f"random {title} {i + 1}" for i in range(some.n_left))
    return Explorer(
        title=cut(model.title(side), LONGEST),
        other_title=cut(title, LONGEST),
        total=len(audit.model.side(side)),
        names=tuple(names_of(some, side, np.arange(len(some.side(side))))),
        other_names=random if drawn else tuple(names_of(some, other, np.arange(len(some.side(other))))),
        drawn=drawn,
        link=model.link.name,
        soft_cap=getattr(model.link, "soft_cap", None),
        unit=(side in model.link.unit_sides, other in model.link.unit_sides),
        offset=model.offset if model.link.sees_biases else 0.0,
        families=families,
        pad=pad,
        first=_first(some, side, families[0], n),
        listed=n,
        shows=tuple(_shows(audit, families, pad)),
        tolerance=max((each.tolerance for each in audit.evidence.drift), default=0.0),
    )


def _shows(audit: Audit, families: tuple[Family, ...], pad: Pad | None) -> Iterator[Show]:
    """Name what is worth seeing: named places of families, and the mean row subtracted; first where that matters."""
    named = [Show(name, index, at, each.home) for index, each in enumerate(families) for at, name in each.shows]
    if pad is None or not pad.mean:
        yield from named
        return
    centred = (-pad.mean / pad.unit, 0.0)
    index = next(i for i, each in enumerate(families) if each.kind != EXPONENT)
    subtracted = Show("Mean row subtracted", index, families[index].start, centred)
    first = audit.head is not None and origin_matters(audit.head)
    yield from (subtracted, *named) if first else (*named, subtracted)
    yield from (
        Show("Folded and subtracted", i, 1.0, centred) for i, each in enumerate(families) if each.kind == "folded"
    )


def _first(some: FactorModel, side: SideName, family: Family, n: int) -> tuple[int, int]:
    """Choose a well-known row whose neighbours change, and one of those that go."""
    weight = some.side(side).norms if some.side(side).counts is None else some.side(side).counts
    queries = np.sort(np.argsort(-np.asarray(weight), kind="stable")[:FIRST])
    far = family.rows * np.exp(family.step * (_far_end(family) - family.origin))
    before, after = neighbours(some.factors(side), n, rows=queries), neighbours(far, n, rows=queries)
    stays = before.kept_in(after)
    at = int(np.argmin(stays.sum(axis=1)))
    gone = np.flatnonzero(~stays[at])
    return int(queries[at]), int(before.indices[at, gone[0] if len(gone) else 0])


def _far_end(family: Family) -> float:
    """Return the end of a family that lies further from the model at hand."""
    return family.low if family.start - family.low > family.high - family.start else family.high
