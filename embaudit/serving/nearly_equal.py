"""Neighbours that stay if scores are a little different: a tolerance, or noise.

The prediction cosine of two items is the cosine of their columns of the score matrix.
If each column changes by at most a share `t` of its length, it turns by at most
`α = arcsin t`, so the angle θ of two columns stays within `θ ± 2α`. A neighbour at the
angle θ cannot be overtaken by an item at the angle θ' if `θ' - θ > 4α`.

If each score has independent noise of standard deviation `s`, the angle of the columns
`r_i` and `r_j` has a standard error of `s √(1/‖r_i‖² + 1/‖r_j‖²)`, for small angles.
The lead of the neighbour j over another item l, `θ_il - θ_ij`, has the variance
`s² (2 (1 - cos φ) / ‖r_i‖² + 1/‖r_j‖² + 1/‖r_l‖²)`, where φ is the angle at i of the
spherical triangle i, j, l.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.canonical.form import require_both_sides
from embaudit.canonical.identified import prediction_views
from embaudit.core.checked import (
    RNG,
    Flags,
    Floats,
    Indices,
    as_count,
    as_generator,
    as_rows,
    is_number,
    named_keywords,
)
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.sizes import N_QUERIES
from embaudit.core.tolerances import TIE
from embaudit.core.words import (
    MOST_DECIMALS,
    at_least,
    counted,
    drawn_of,
    in_decimals,
    percent,
    two_decimals,
)
from embaudit.errors import InputError, must_be
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.io.tables.interactions import read_ratings
from embaudit.io.tables.titles import places_of
from embaudit.linalg.nearest import (
    NeighbourLists,
    list_length,
    neighbours,
    require_length,
)
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import row_norms, sample_rows, unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import Equivalence, FactorModel, SideName
from embaudit.movements.twins import representatives_of, without_copies

if TYPE_CHECKING:
    import pandas as pd

ANGLE_ROUNDING = 1e-7
"""Largest error of an angle in radians that is computed from a cosine.

A cosine near 1 that is off by 2e-15 belongs to an angle that is off by up to 6e-8.
"""
STANDARD_ERRORS = 2.0
"""Standard errors by which a stable neighbour leads the first item left out."""
LARGEST_TURN = 0.5
"""Angle in radians by which noise may turn a typical column of scores.

It is 29°. Above it the formula of the standard error fails: in simulations of 5 to 20
dimensions, angles are then wider by more than one standard error on average."""
MIN_HELD_OUT = 30
"""Fewest held-out ratings from which the noise of a score is estimated."""


@dataclass(frozen=True, eq=False)
class NearlyEqual(Result):
    """Lists by prediction cosine, with the entries that stay if scores change a little.

    Duplicate rows whose scores have one direction share one place in the lists, also
    after a change of the scores.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(40, 3)), draw.normal(size=(30, 3))
    >>> model = FactorModel.from_user_item(users, items)
    >>> found = nearly_equal(model, tolerance=0.05, n_neighbours=2)
    >>> found.indices.shape, found.certain_share < 1
    ((30, 2), True)
    """

    model: FactorModel = field(repr=False)
    """The model."""
    role: SideName
    """Side of the rows."""
    rows: Indices
    """(m,) rows that the lists belong to."""
    n_rows: int
    """Number of rows that have a list. `rows` is a sample if it is shorter."""
    indices: Indices
    """(m, n) neighbours by prediction cosine, best first; -1 for no neighbour."""
    cosines: Floats
    """(m, n) prediction cosines; NaN for no neighbour."""
    tolerance: float | None = None
    """Largest change of a column of scores, as a share of its length."""
    noise: float | None = None
    """Standard deviation of a score."""
    certain: Flags | None = None
    """(m, n) True if no change within the tolerance removes the entry."""
    standard_errors: Floats | None = None
    """(m, n) standard errors of the angles in radians."""
    stable: Flags | None = None
    """(m, n) True if the entry leads the first row left out by two standard errors."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        return plain_dict(
            {
                "role": self.role,
                "n": self.n,
                "n_lists": len(self.rows),
                "n_rows": self.n_rows,
                "tolerance": self.tolerance,
                "noise": self.noise,
                "typical_cosine": self.typical_cosine,
                "typical_range": self.typical_range,
                "certain_share": self.certain_share,
                "typical_standard_error": self.typical_standard_error,
                "stable_share": self.stable_share,
            }
        )

    def __repr__(self) -> str:
        return (
            f"NearlyEqual({self.n} nearest of {counted(len(self.rows), self._title)}, "
            f"tolerance {self.tolerance}, noise {self.noise})"
        )

    @property
    def n(self) -> int:
        """Length of a list."""
        return int(self.indices.shape[1])

    @property
    def certain_share(self) -> float | None:
        """Share of the entries that no change within the tolerance removes."""
        return self._share(self.certain)

    @property
    def stable_share(self) -> float | None:
        """Share of the entries that lead by two standard errors."""
        return self._share(self.stable)

    @property
    def typical_cosine(self) -> float:
        """Median prediction cosine of a neighbour."""
        return float(np.nanmedian(self.cosines))

    @property
    def typical_range(self) -> tuple[float, float] | None:
        """Range of the typical cosine within the tolerance."""
        if self.tolerance is None:
            return None
        lowest, highest = cosine_ranges(np.array(self.typical_cosine), self.tolerance)
        return float(lowest), float(highest)

    @property
    def typical_standard_error(self) -> float | None:
        """Median standard error of the cosine of a neighbour."""
        errors = self._cosine_errors()
        if errors is None:
            return None
        return float(np.nanmedian(errors))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entry of a list.

        The columns are `row`, `neighbour` (names), `place` (from 1) and `cosine`; with
        a tolerance also `lowest`, `highest` and `certain`; with noise also
        `standard_error` (of the cosine) and `stable`.
        """
        import pandas as pd

        names = np.asarray(self.model.names(self.role))
        m, n = self.indices.shape
        columns: dict[str, Any] = {
            "row": np.repeat(names[self.rows], n),
            "neighbour": names[self.indices.ravel()],
            "place": np.tile(np.arange(1, n + 1), m),
            "cosine": self.cosines.ravel(),
        }
        if self.tolerance is not None and self.certain is not None:
            lowest, highest = cosine_ranges(self.cosines, self.tolerance)
            columns["lowest"] = lowest.ravel()
            columns["highest"] = highest.ravel()
            columns["certain"] = self.certain.ravel()
        errors = self._cosine_errors()
        if errors is not None and self.stable is not None:
            columns["standard_error"] = errors.ravel()
            columns["stable"] = self.stable.ravel()
        is_entry = self.indices.ravel() >= 0
        return pd.DataFrame(columns)[is_entry].reset_index(drop=True)

    def explain(self) -> str:
        """Say how many neighbours stay, and how far a typical cosine can be off."""
        texts = (self.on_tolerance(), self.on_noise())
        return " ".join(text for text in texts if text)

    def on_tolerance(self) -> str:
        """Say how far a typical cosine can be off, and how many neighbours stay."""
        if self.typical_range is None or self.certain_share is None:
            return ""
        low, typical, high = _told_apart(
            self.typical_range[0], self.typical_cosine, self.typical_range[1]
        )
        return (
            f"If {self.scores} may be {self.tolerance_text} off, the typical "
            f"prediction cosine of a neighbour, {typical}, is {low} to {high}, and "
            f"{at_least(self.certain_share)} of the {self.n} nearest are certain to "
            f"stay ({self.lists})."
        )

    @property
    def tolerance_text(self) -> str:
        """The tolerance in percent, without rounding."""
        return f"{100 * (self.tolerance or 0):.10g} %"

    @property
    def scores(self) -> str:
        """Name the scores that may differ: those behind prediction cosines."""
        model = self.model
        is_centred = bool(model.centred_sides)
        biases = (model.left_bias, model.right_bias)
        has_bias = model.offset != 0 or any(bias is not None for bias in biases)
        if has_bias and is_centred:
            return "scores without biases and means"
        if is_centred:
            return "scores without means"
        if has_bias:
            return "scores without biases"
        return "scores"

    def on_noise(self) -> str:
        """Say how exact a typical cosine is, and how many neighbours are stable."""
        if self.stable_share is None or self.standard_errors is None:
            return ""
        cosine = two_decimals(self.typical_cosine)
        error = f"has a standard error of {self.typical_standard_error:.2g}"
        # Noise turns a column in all dimensions, and one of them changes the angle.
        turn = np.sqrt(self.model.rank) * float(np.nanmedian(self.standard_errors))
        if turn > LARGEST_TURN:
            error = "is lost in the noise"
        return (
            f"If each score has a standard error of {self.noise:.3g}, the typical "
            f"prediction cosine of a neighbour, {cosine}, {error}, and "
            f"{percent(self.stable_share)} of the {self.n} nearest are stable: they "
            f"lead the first {self._title} left out by two standard errors "
            f"({self.lists})."
        )

    @property
    def lists(self) -> str:
        """Name the lists and their number."""
        return f"lists of {drawn_of(len(self.rows), self.n_rows, self._title)}"

    @property
    def _title(self) -> str:
        return self.model.title(self.role)

    def _share(self, flags: Flags | None) -> float | None:
        if flags is None:
            return None
        is_entry = self.indices >= 0
        return float(np.count_nonzero(flags & is_entry) / np.count_nonzero(is_entry))

    def _cosine_errors(self) -> Floats | None:
        """Return the standard errors of the cosines, (m, n)."""
        if self.standard_errors is None:
            return None
        # The derivative of cos θ is -sin θ, which serves for small errors. Numbers from
        # −1 to 1 have a standard deviation of at most 1.
        sines = np.sqrt(np.maximum(1 - self.cosines**2, 0))
        return np.minimum(sines * self.standard_errors, 1)


def _told_apart(low: float, middle: float, high: float) -> list[str]:
    """Write three numbers with as many decimals as tell the outer ones apart.

    Examples
    --------
    >>> _told_apart(0.771, 0.83, 0.882), _told_apart(0.61, 0.612, 0.613)
    (['0.77', '0.83', '0.88'], ['0.610', '0.612', '0.613'])
    """
    texts: list[str] = []
    for decimals in range(2, MOST_DECIMALS + 1):
        texts = [in_decimals(value, decimals) for value in (low, middle, high)]
        if len(set(texts)) == len(texts):
            break
    return texts


def cosine_ranges(cosines: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Return the lowest and the highest prediction cosine within a tolerance.

    Both ends are attained if scores have two dimensions or more.

    Parameters
    ----------
    cosines : array
        Prediction cosines.
    tolerance : float
        Largest change of a column of scores, as a share of its length.

    Examples
    --------
    >>> lowest, highest = cosine_ranges(np.array([0.83]), 0.05)
    >>> lowest.round(2), highest.round(2)
    (array([0.77]), array([0.88]))
    """
    angles = np.arccos(np.clip(cosines, -1, 1))
    turn = 2 * np.arcsin(tolerance)
    lowest = np.cos(np.minimum(angles + turn, np.pi))
    highest = np.cos(np.maximum(angles - turn, 0))
    return lowest, highest


@named_keywords
def nearly_equal(
    model: FactorModel | AnyPath | object,
    *,
    tolerance: float | None = None,
    noise: float | None = None,
    role: SideName | str = "right",
    n_neighbours: int | None = None,
    n_lists: int = N_QUERIES,
    rows: ArrayLike | None = None,
    rng: RNG = 0,
) -> NearlyEqual:
    """Find the neighbours that stay in every model of nearly the same scores.

    Scores are taken without biases, and centred as `identified_factors` describes.

    Parameters
    ----------
    model : FactorModel, path or object
        A model of two sides, or an object that `embaudit.load` reads.
    tolerance : float, optional
        Largest change of the scores of one row, as a share of their length (the square
        root of their sum of squares), above 0 and below 1.
    noise : float, optional
        Standard deviation of one score, above 0. `score_noise` estimates it from
        held-out ratings.
    role : {"left", "right"}
        Side of the lists.
    n_neighbours : int, optional
        Length of the lists. The default is 10, but at most a third of the other rows.
    n_lists : int
        Number of rows whose lists are judged, drawn at random if there are more.
    rows : array of int, optional
        Rows whose lists are judged. By default the rows are drawn at random.
    rng : numpy Generator or int
        Draws the rows.

    Returns
    -------
    NearlyEqual
        The lists, with a flag for each entry that stays.

    Raises
    ------
    InputError
        If a side is missing, neither tolerance nor noise is given, or too few rows have
        scores.

    Examples
    --------
    >>> users = [[1.0, 0.0], [0.0, 1.0]]
    >>> items = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [-1.0, 0.5]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> found = nearly_equal(model, tolerance=0.2, n_neighbours=1)
    >>> found.indices.ravel().tolist(), found.certain.ravel().tolist()
    ([1, 0, 3, 2], [True, True, False, True])
    """
    model, draw = model_of(model), as_generator(rng)
    require_share(tolerance)
    _require_positive(noise)
    if tolerance is None and noise is None:
        raise must_be("tolerance or noise", "given", "neither", "pass tolerance=0.05")
    require_both_sides(model, "prediction cosines")
    role = model.side_name(role)
    as_count(n_lists, "n_lists")
    views = prediction_views(model)
    if views is None:
        raise InputError(
            "at least one score of the model must differ from 0; all scores "
            "are 0; check "
            "the input."
        )
    view = views[role]
    lengths = row_norms(view)
    representatives = _predicted_alike(view, representatives_of(model, role))
    eligible = without_copies(np.flatnonzero(lengths > 0), representatives)
    if len(eligible) < 3:
        raise must_be(
            f"the number of {model.title(role)}s with different scores",
            "at least 3",
            len(eligible),
            "rows of zeros and duplicates do not count",
        )
    require_length(n_neighbours, len(eligible))
    n = list_length(n_neighbours, len(eligible), left_out=1)
    if rows is None:
        queries = sample_rows(eligible, n_lists, draw)
    else:
        queries = as_rows(rows, len(view))
        queries = queries[lengths[queries] > 0]
    # The last entry of each list is the first row left out.
    lists = neighbours(view, n + 1, rows=queries, first=representatives)
    certain = None
    if tolerance is not None:
        certain = _certain(lists, tolerance)
    standard_errors = stable = None
    if noise is not None:
        standard_errors = _standard_errors(lists, lengths, noise)[:, :-1]
        stable = _stable(lists, lengths, noise)
    return NearlyEqual(
        model=model,
        role=role,
        rows=queries,
        n_rows=len(eligible),
        indices=lists.indices[:, :-1],
        cosines=lists.cosines[:, :-1],
        tolerance=tolerance,
        noise=noise,
        certain=certain,
        standard_errors=standard_errors,
        stable=stable,
    )


def _predicted_alike(view: Rows, first: Indices | None) -> Indices | None:
    """Let rows whose predictions differ represent themselves, though they are twins.

    Twins have stored rows of one direction. Their columns of the scores can have
    different ones: if scores are centred, and if axes are so uneven that the rounding
    of the stored rows is seen.

    Parameters
    ----------
    view : rows of shape (p, r)
        Rows whose cosine is the prediction cosine.
    first : array of int (p,), optional
        Representative of each row; None without twins.
    """
    if first is None:
        return None
    first = first.copy()
    copies = np.flatnonzero(first != np.arange(len(first)))
    cosines = pair_cosines(view, view, np.column_stack([first[copies], copies]))
    apart = copies[~(cosines >= 1 - TIE)]
    first[apart] = apart
    return first


def require_share(tolerance: float | None) -> None:
    """Raise InputError unless a tolerance is a share between 0 and 1, or None."""
    if tolerance is None:
        return
    if not is_number(tolerance) or not 0 < tolerance < 1:
        raise must_be(
            "tolerance",
            "a share above 0 and below 1, such as 0.05",
            repr(tolerance),
        )


def _require_positive(noise: float | None) -> None:
    if noise is None:
        return
    if not is_number(noise) or not noise > 0:
        raise must_be("noise", "a finite number above 0", repr(noise))


def _leads(lists: NeighbourLists) -> Floats:
    """Return how many radians each entry is nearer than the first row left out, (m, n).

    The last entry of each list is the first row left out. Leads are NaN without it.
    """
    angles = np.arccos(np.clip(lists.cosines, -1, 1))
    return np.asarray(angles[:, -1:] - angles[:, :-1])


def _certain(lists: NeighbourLists, tolerance: float) -> Flags:
    """Flag the entries that no change within the tolerance removes, (m, n)."""
    # Both columns of both angles turn: four turns of at most arcsin t.
    turns = 4 * np.arcsin(tolerance)
    return np.asarray(_leads(lists) > turns + 2 * ANGLE_ROUNDING)


def _standard_errors(lists: NeighbourLists, lengths: Floats, noise: float) -> Floats:
    """Return the standard errors of the angles of all entries in radians."""
    own = lengths[lists.rows][:, None]
    others = lengths[lists.indices]
    return np.asarray(noise * np.sqrt(own**-2 + others**-2))


def _stable(lists: NeighbourLists, lengths: Floats, noise: float) -> Flags:
    """Flag the entries that lead the first row left out by two standard errors."""
    standard_errors = noise * np.sqrt(_lead_variances(lists, lengths))
    needed = STANDARD_ERRORS * standard_errors + 2 * ANGLE_ROUNDING
    return np.asarray(_leads(lists) > needed)


def _lead_variances(lists: NeighbourLists, lengths: Floats) -> Floats:
    """Return the variance of each lead if the noise of a score has variance 1, (m, n).

    For the entry j of row i and the first row left out l, the variance is
    `2 (1 - cos φ) / ‖r_i‖² + 1/‖r_j‖² + 1/‖r_l‖²`; see the head of this module.
    """
    entries = lists.indices[:, :-1]
    rivals = lists.indices[:, -1:]
    cosines = np.clip(lists.cosines, -1, 1)
    between = _cosines_between(lists.searched, entries, rivals)
    # The noise of row i moves both angles of a lead. The two moves cancel if the entry
    # and the first row left out lie in the same direction from row i (φ = 0).
    apart = _squared_distances(cosines[:, :-1], cosines[:, -1:], between)
    own_part = apart / lengths[lists.rows][:, None] ** 2
    return np.asarray(own_part + lengths[entries] ** -2 + lengths[rivals] ** -2)


def _cosines_between(searched: Rows, entries: Indices, rivals: Indices) -> Floats:
    """Return the cosines of the entries of each list with its rival, (m, n).

    Parameters
    ----------
    searched : array of shape (p, k)
        Rows that the lists were drawn from.
    entries : array of int (m, n)
        Numbers of the entries of each list.
    rivals : array of int (m, 1)
        Number of the first row that each list leaves out.
    """
    m, n = entries.shape
    n_columns = searched.shape[1]
    cosines = np.empty((m, n))
    # Each entry takes a row of k numbers, so the lists are taken block by block.
    for block in row_blocks(m, (n + 1) * n_columns):
        entry_rows = unit_rows(searched[entries[block].ravel()])
        entry_rows = entry_rows.reshape(-1, n, n_columns)
        rival_rows = unit_rows(searched[rivals[block].ravel()])
        cosines[block] = np.einsum("mnk,mk->mn", entry_rows, rival_rows)
    return cosines


def _squared_distances(entry: Floats, rival: Floats, between: Floats) -> Floats:
    """Return the squared distance of the directions from a row to two others.

    The squared distance is `2 (1 - cos φ)` with the angle φ at the row. By the
    spherical law of cosines, `cos φ = (between - entry rival) / (sin θ_entry
    sin θ_rival)`. The result is at most 4.

    Parameters
    ----------
    entry, rival : array
        Cosines of the row with the entry and with the rival.
    between : array
        Cosines of the entry with the rival.

    Examples
    --------
    From a pole, the directions to two places on the equator are as far apart as the
    two places.

    >>> zero = np.array([0.0])
    >>> _squared_distances(zero, zero, np.array([0.5])).round(9)
    array([1.])
    """
    sines = np.sqrt((1 - entry**2) * (1 - rival**2))
    # Near the row itself, or opposite of it, there is no direction. 4 is the bound.
    has_direction = sines > ANGLE_ROUNDING
    cosines = np.divide(
        between - entry * rival,
        sines,
        out=np.full_like(between, -1.0),
        where=has_direction,
    )
    return np.asarray(2 * (1 - np.clip(cosines, -1, 1)))


def as_noise(model: FactorModel, noise: float | AnyPath) -> float:
    """Return the standard deviation of a score, given or estimated from a table.

    Parameters
    ----------
    model : FactorModel
        The model.
    noise : float or path
        The standard deviation, or a table of held-out ratings (see `score_noise`). A
        text that reads as a number is a number.

    Examples
    --------
    >>> as_noise(FactorModel.from_user_item([[1.0]], [[2.0]]), "0.5")
    0.5
    """
    if isinstance(noise, str):
        with suppress(ValueError):
            noise = float(noise)
    if isinstance(noise, str | PathLike):
        return score_noise(model, noise)
    _require_positive(noise)
    return float(noise)


def score_noise(model: FactorModel, ratings: AnyPath) -> float:
    r"""Estimate the standard deviation of a score from ratings that training left out.

    The estimate is the root of the mean squared difference between scores and ratings.
    The noise of the ratings themselves counts, too, so scores are usually more exact.

    Parameters
    ----------
    model : FactorModel
        A model of two sides whose scores predict the ratings (identity link).
    ratings : path
        Table of users, items and ratings, as `embaudit fit` reads it.

    Raises
    ------
    InputError
        If scores are not ratings, a side has no ids, the table has no ratings, or fewer
        than 30 of them are of users and items of the model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> names = [f"u{i}" for i in range(6)]
    >>> model = FactorModel.from_user_item(
    ...     np.full((6, 1), 2.0), np.ones((6, 1)), user_ids=names, item_ids=names
    ... )
    >>> lines = ["userId,itemId,rating", *(f"{u},{i},4" for u in names for i in names)]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "held-out.csv")
    ...     _ = file.write_text("\n".join(lines))
    ...     score_noise(model, file)
    2.0
    """
    require_both_sides(model, "the noise of scores")
    if model.predicts is not Equivalence.SCORES:
        raise must_be(
            "the predictions of a model whose noise is estimated from ratings",
            "ratings, so that scores can be compared with ratings",
            model.predicts.title,
            "give the standard deviation of a score as a number",
        )
    interactions = read_ratings(ratings)
    if interactions.columns[2] is None:
        raise must_be(
            f"the table {ratings}",
            "a table of users, items and ratings",
            "no column of ratings",
            "give the standard deviation of a score as a number",
        )
    users = places_of(interactions.user_ids, _ids_of(model, "left"))
    items = places_of(interactions.item_ids, _ids_of(model, "right"))
    table = interactions.matrix.tocoo()
    rows, columns = users[table.row], items[table.col]
    is_known = (rows >= 0) & (columns >= 0)
    n_known = int(np.count_nonzero(is_known))
    if n_known < MIN_HELD_OUT:
        raise must_be(
            f"the number of ratings in {ratings} of users and items of the model",
            f"at least {MIN_HELD_OUT}",
            n_known,
            "check that the table and the model have the same ids",
        )
    scores = _scores_of_pairs(model, rows[is_known], columns[is_known])
    return float(np.sqrt(np.mean((scores - table.data[is_known]) ** 2)))


def _ids_of(model: FactorModel, role: SideName) -> NDArray[Any]:
    ids = model.side(role).ids
    if ids is None:
        raise must_be(
            f"the {model.title(role)}s",
            "rows with ids, so that they can be found in the table of ratings",
            "rows without ids",
            "give the standard deviation of a score as a number",
        )
    return np.asarray(ids)


def _scores_of_pairs(model: FactorModel, rows: Indices, columns: Indices) -> Floats:
    """Return the scores of some pairs of left and right rows."""
    left, right = model.factors("left"), model.factors("right")
    scores = np.full(len(rows), model.offset, dtype=np.float64)
    for block in row_blocks(len(rows), model.rank):
        p = np.asarray(left[rows[block]], dtype=np.float64)
        q = np.asarray(right[columns[block]], dtype=np.float64)
        scores[block] += np.einsum("ij,ij->i", p, q)
    if model.left_bias is not None:
        scores += model.left_bias[rows]
    if model.right_bias is not None:
        scores += model.right_bias[columns]
    return scores
