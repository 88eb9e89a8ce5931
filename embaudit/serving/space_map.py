"""A map from the vectors of one encoder to the vectors of another encoder.

After a change of the encoder, all documents must be embedded again, unless a map brings
the old vectors into the new space well enough. Documents that both encoders have
embedded decide this: a map is fitted to one half of them and judged on the other half.
Near-duplicates are in the same half, because a map that was fitted to a document says
nothing new about its near-duplicates.

The judged half is an index of half the density: its rows are farther apart, so its
lists are easier to keep. The top 5 among half of the rows reach about as far as the top
10 among all rows. So a map has to keep these shorter lists, too.

Two maps are tried. A rotation keeps all cosines of the old vectors; the best one is the
orthogonal Procrustes rotation (Schönemann, 1966). A linear map also stretches axes; it
is fitted by least squares with a ridge penalty, which is chosen on a part of the fitted
rows.

The angles between rows limit every map, before any map is fitted. Let θ_old and θ_new
be the angles between rows i and j in both tables. A rotation changes no angle between
two rows, so if it leaves row i at the angle ε_i from its new vector, and row j at ε_j,
then `ε_i + ε_j ≥ |θ_old − θ_new|`. A linear map of condition number κ changes
`tan(θ/2)` by a factor of at most κ, so it reaches the new angle only if
`κ ≥ t_new / t_old` and `κ ≥ t_old / t_new`, with `t = tan(θ/2)`.

Both limits need at least as many new columns as old ones. A map to fewer columns drops
directions, and can change every angle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.comparison.matching import Match, match
from embaudit.comparison.thresholds import CarriedThreshold, thresholds
from embaudit.core.checked import RNG, Floats, Indices, as_generator, named_keywords
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import frame_of, plain_dict
from embaudit.core.results import Result
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import exceeds, reaches
from embaudit.core.words import (
    counted,
    down,
    drawn_of,
    percent,
    percent_with_interval,
)
from embaudit.errors import must_be
from embaudit.io import read
from embaudit.io.files import AnyPath
from embaudit.linalg.best_matches import (
    BestMatches,
    Measure,
    Order,
    best_matches,
    shares_kept,
)
from embaudit.linalg.intervals import mean_share_interval
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.nearest import list_length, require_length, tie_of
from embaudit.linalg.pairs import draw_pairs
from embaudit.linalg.rows import sample_rows
from embaudit.linalg.taken import taken_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel
from embaudit.movements.twins import representatives_of
from embaudit.ranges.half_angle import half_angle_tangents
from embaudit.serving.index_metric import trained_measure
from embaudit.serving.map_fit import (
    RIDGE_PART,
    FittedMap,
    MapKind,
    PairedRows,
    PairSums,
    linear_fit,
    rotation,
)
from embaudit.serving.near_duplicates import near_duplicate_groups

if TYPE_CHECKING:
    import pandas as pd

MOST_FITTED = 100_000
"""Largest number of rows that a map is fitted to."""
MOST_JUDGED = 50_000
"""Largest number of rows that judge a map."""
N_PAIRS = 100_000
"""Number of pairs of rows whose angles are compared between both encoders."""
THRESHOLD_ROWS = 2_000
"""Largest number of rows whose pairs carry thresholds over."""
COVERED = 0.9
"""Probability that a new row lies within the stated angle."""
ENOUGH = 0.95
"""Share of the new encoder's lists that a map must keep to be enough."""
TOO_LITTLE = 0.8
"""Share of the lists below which documents should be embedded again."""
FEWEST_ROWS = 20
"""Fewest paired rows with a direction that can be fitted, tuned and judged."""


class Advice(StrEnum):
    """Whether old vectors can be mapped instead of embedding documents again."""

    ROTATION = "rotation"
    """A rotation keeps at least 95 % of the new encoder's lists."""
    LINEAR = "linear"
    """A rotation does not keep that many, but a linear map does."""
    LOSSY = "lossy"
    """The better map keeps at least 80 % of the lists, but perhaps less than 95 %."""
    EMBED_AGAIN = "embed again"
    """The better map may keep less than 80 % of the lists."""
    TOO_FEW = "too few rows"
    """The better map may keep less than 80 % of the lists, and at least 95 %, too."""


@dataclass(frozen=True, eq=False)
class JudgedMap:
    """A map, and the lists that it keeps among rows that it was not fitted to."""

    fitted: FittedMap
    """The map, fitted to one half of the rows."""
    mapped_rows: Floats = field(repr=False)
    """(m,) share of each list of the new encoder that its query finds among mapped old
    rows."""
    mapped_rows_dense: Floats = field(repr=False)
    """(m,) the same of shorter lists, which reach as far as lists among all rows do."""
    mapped_queries: Floats = field(repr=False)
    """(m,) share that the mapped query finds among the old rows."""
    angles: Floats = field(repr=False)
    """(n,) angle in degrees between each mapped old row and its new row."""
    carried: tuple[CarriedThreshold, ...]
    """Thresholds on old cosines, and on cosines of new queries with mapped rows."""

    @property
    def kind(self) -> MapKind:
        """The kind of the map."""
        return self.fitted.kind

    @property
    def kept_interval(self) -> tuple[float, float]:
        """95 % interval of the share that is kept, of the lists that it keeps worse."""
        low, high = mean_share_interval(self.mapped_rows)
        low_dense, high_dense = mean_share_interval(self.mapped_rows_dense)
        return min(low, low_dense), min(high, high_dense)

    @property
    def covering_angle(self) -> float | None:
        """Angle in degrees within which a new row lies with a probability of 90 %.

        With n judged rows it is the ⌈.9 (n + 1)⌉-th smallest angle (split conformal
        prediction). None if n is below 9. The statement holds for rows drawn like the
        judged ones, on average over the draws.
        """
        rank = math.ceil(COVERED * (len(self.angles) + 1))
        if rank > len(self.angles):
            return None
        return float(np.partition(self.angles, rank - 1)[rank - 1])


@dataclass(frozen=True, eq=False)
class SpaceMap(Result):
    """How well a map brings the vectors of an old encoder into a new space.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> draw = np.random.default_rng(0)
    >>> rows = draw.standard_normal((200, 3))
    >>> turn = np.linalg.qr(draw.standard_normal((3, 3)))[0]
    >>> found = ea.space_map({"vectors": rows}, {"vectors": rows @ turn})
    >>> found.to_frame()[["map", "mapped_rows"]].round(2)
            map  mapped_rows
    0      none          1.0
    1  rotation          1.0
    2    linear          1.0
    """

    title: str
    """Title of a row, such as "item"."""
    columns: tuple[int, int]
    """Numbers of columns of the old and of the new rows."""
    n_paired: int
    """Different rows of both encoders that have a direction in both.

    Rows that duplicate each other in both tables count once."""
    n_groups: int
    """Groups of near-duplicates among the fitted and the judged rows; a row without
    near-duplicates is a group."""
    n_fitted: int
    """Rows that the maps were fitted to."""
    n_judged: int
    """Other rows, among which lists were compared."""
    n: int
    """Length of the lists."""
    n_dense: int
    """Length of the lists that reach as far as lists of length n among all paired
    rows."""
    rotation: JudgedMap
    """The best rotation."""
    linear: JudgedMap
    """The best linear map."""
    without_map: Floats = field(repr=False)
    """(m,) share of each list of the new encoder that the old encoder lists itself."""
    least_angle: float | None
    """Mean angle in degrees that every rotation leaves at least, over drawn pairs; None
    if the map drops columns."""
    condition_numbers: tuple[float, float] | None
    """Condition number that a linear map needs for half of the drawn pairs, and for one
    pair in a hundred; None if the map drops columns.

    A map of a smaller condition number does not reach the new angle of these pairs."""
    n_pairs: int
    """Number of drawn pairs."""
    final: dict[MapKind, FittedMap] = field(repr=False)
    """The maps, fitted to the rows of both halves."""
    chosen: MapKind | None = None
    """The map that the caller chose; None for the map that the advice is about."""

    @property
    def advice(self) -> Advice:
        """Decide by the intervals of the lists among mapped old rows.

        The lists count as draws from many more rows, because the advice is about all
        rows that the map will carry, and not about the judged rows alone.
        """
        if reaches(self.rotation.kept_interval[0], ENOUGH):
            return Advice.ROTATION
        if reaches(self.linear.kept_interval[0], ENOUGH):
            return Advice.LINEAR
        low, high = self._better.kept_interval
        if reaches(low, TOO_LITTLE):
            return Advice.LOSSY
        if reaches(high, ENOUGH):
            return Advice.TOO_FEW
        return Advice.EMBED_AGAIN

    @property
    def best(self) -> JudgedMap:
        """The map that the advice is about."""
        if self.advice is Advice.ROTATION:
            return self.rotation
        if self.advice is Advice.LINEAR:
            return self.linear
        return self._better

    @property
    def _better(self) -> JudgedMap:
        """The map that keeps more; a linear map of few rows can keep less."""
        linear = float(self.linear.mapped_rows.mean())
        if exceeds(linear, float(self.rotation.mapped_rows.mean())):
            return self.linear
        return self.rotation

    @property
    def used(self) -> JudgedMap:
        """The map to apply: the chosen map, or else the recommended map."""
        if self.chosen is None:
            return self.best
        if self.chosen == "rotation":
            return self.rotation
        return self.linear

    @property
    def conclusion(self) -> str:
        """The advice, after the share of a chosen map that the advice is not about."""
        if self.used.kind == self.best.kind:
            return self._on_advice()
        kept = self._share(self.used.mapped_rows)
        return (
            f"The {_name(self.used.kind)} that you chose keeps {kept} of the new "
            f"encoder's top {self.n}. {self._on_advice()}"
        )

    def _on_advice(self) -> str:
        """Give the advice in one or two sentences."""
        kept = self._share(self.best.mapped_rows)
        dense = self._share(self.best.mapped_rows_dense)
        lists = f"of the new encoder's top {self.n}"
        if self.n_dense < self.n:
            lists += f" and {dense} of its top {self.n_dense}"
        # Among more rows a map usually keeps less, so the answer names their number.
        lists += f" among {counted(self.n_judged, self.title)}"
        name = _name(self.best.kind)
        if self.advice is Advice.ROTATION:
            return (
                f"A rotation is enough: it keeps {kept} {lists}. Map the old vectors."
            )
        if self.advice is Advice.LINEAR:
            return (
                f"A linear map is enough: it keeps {kept} {lists}. Map the old vectors."
            )
        if self.advice is Advice.LOSSY:
            text = (
                f"A {name} keeps {kept} {lists}. Map the old vectors only if you "
                f"can lose the rest; otherwise embed the {self.title}s again."
            )
            if reaches(self.best.kept_interval[1], ENOUGH):
                text += (
                    f" More {self.title}s that both encoders have embedded would tell "
                    "how much it loses."
                )
            return text
        if self.advice is Advice.TOO_FEW:
            return (
                f"Too few {self.title}s to say whether a map is enough: a {name} keeps "
                f"{kept} {lists}. Embed more {self.title}s with both encoders and "
                "compare again."
            )
        return f"Embed the {self.title}s again: a {name} keeps only {kept} {lists}."

    @property
    def details(self) -> list[str]:
        """Sentences with the figures behind the conclusion."""
        n_lists = drawn_of(len(self.without_map), self.n_judged, "list")
        texts = [
            f"A rotation keeps {self._share(self.rotation.mapped_rows)}, and a linear "
            f"map {self._share(self.linear.mapped_rows)}. The old encoder by itself "
            f"(old queries among old vectors) keeps {self._share(self.without_map)}.",
            "If only queries are mapped and the index stays as it is, a rotation keeps "
            f"{self._share(self.rotation.mapped_queries)}, and a linear map "
            f"{self._share(self.linear.mapped_queries)}.",
            f"These are means over {n_lists} among "
            f"{counted(self.n_judged, self.title)} that took no part in the fit to "
            f"{self.n_fitted:,} others. In a larger index, {self.title}s lie closer "
            "together, so a map usually keeps less.",
            *self._on_density(),
            *self._on_angles(),
        ]
        if self.advice in (Advice.EMBED_AGAIN, Advice.TOO_FEW):
            return texts
        angle = self.used.covering_angle
        if angle is not None:
            texts.append(
                f"After the {_name(self.used.kind)}, nine in ten {self.title}s lie "
                f"within {angle:.1f}° of their new vectors."
            )
        threshold = self.typical_threshold
        if threshold is not None:
            texts.append(
                f"A threshold of {threshold.before:.2f} on old cosines becomes "
                f"{threshold} on cosines of new queries with mapped {self.title}s: "
                f"{percent(threshold.share)} of all pairs lie above it."
            )
        return texts

    def _on_density(self) -> list[str]:
        """Say why shorter lists count, too, and what happens to near-duplicates."""
        texts = []
        if self.n_dense < self.n:
            texts.append(
                f"The top {self.n_dense} among {counted(self.n_judged, self.title)} "
                f"reach about as far as the top {self.n} among all {self.n_paired:,}, "
                "so a map has to keep both."
            )
        n_near = self.n_fitted + self.n_judged - self.n_groups
        if n_near:
            texts.append(
                f"{counted(n_near, self.title)} nearly "
                f"{'duplicates another one' if n_near == 1 else 'duplicate others'} in "
                "both tables. Near-duplicates are all fitted or all judged, and count "
                "as one query."
            )
        return texts

    def _on_angles(self) -> list[str]:
        """Say how far the maps leave rows from their new vectors, and every map."""
        rotation = f"{self.rotation.angles.mean():.1f}°"
        linear = f"{self.linear.angles.mean():.1f}°"
        if self.least_angle is None or self.condition_numbers is None:
            return [
                f"On average, the rotation leaves {self.title}s {rotation} from their "
                f"new vectors, and the linear map {linear}."
            ]
        # Both limits are lower bounds.
        least = down(self.least_angle, 1)
        half, hundredth = [_at_least(value) for value in self.condition_numbers]
        return [
            f"No rotation brings {self.title}s nearer to their new vectors than "
            f"{least:.1f}° on average. The fitted one leaves {rotation}, "
            f"and the linear map {linear}.",
            "To reach the new angle of a pair, a linear map needs a condition number "
            f"of at least {half} for half of the pairs, and of {hundredth} for one in "
            f"a hundred ({counted(self.n_pairs, 'pair')}).",
        ]

    @property
    def typical_threshold(self) -> CarriedThreshold | None:
        """The carried threshold nearest to 0.80; None if no threshold was carried."""
        if not self.used.carried:
            return None
        return min(self.used.carried, key=lambda found: abs(found.before - 0.8))

    def _share(self, shares: Floats) -> str:
        """Write a mean share and its interval, next to the limits that judge them."""
        return percent_with_interval(
            float(shares.mean()), mean_share_interval(shares), (TOO_LITTLE, ENOUGH)
        )

    def explain(self) -> str:
        """Say whether a map is enough, and by which figures."""
        return "\n".join([self.conclusion, *self.details])

    def __repr__(self) -> str:
        old, new = self.columns
        return f"SpaceMap({old} to {new} columns, {self.advice.value})"

    def records(self) -> list[dict[str, Any]]:
        """Return one record per map, and one of the old encoder without a map.

        Columns
        -------
        map : {"none", "rotation", "linear"}
            The map.
        mapped_rows : float
            Share of the new encoder's lists that new queries find among mapped old
            rows, with the ends of its 95 % interval; without a map, share that the old
            encoder lists itself.
        mapped_rows_dense : float
            The same of shorter lists, which reach as far as lists among all paired rows
            do; None without a map.
        mapped_queries : float
            Share that mapped queries find among old rows; None without a map.
        mean_angle : float
            Mean angle in degrees between mapped old rows and new rows.
        covering_angle : float
            Angle within which nine in ten rows lie.
        """
        low, high = mean_share_interval(self.without_map)
        records: list[dict[str, Any]] = [
            {
                "map": "none",
                "mapped_rows": float(self.without_map.mean()),
                "mapped_rows_ci_low": low,
                "mapped_rows_ci_high": high,
                "mapped_rows_dense": None,
                "mapped_rows_dense_ci_low": None,
                "mapped_rows_dense_ci_high": None,
                "mapped_queries": None,
                "mapped_queries_ci_low": None,
                "mapped_queries_ci_high": None,
                "mean_angle": None,
                "covering_angle": None,
            }
        ]
        for judged in (self.rotation, self.linear):
            record: dict[str, Any] = {"map": judged.kind}
            for name in ("mapped_rows", "mapped_rows_dense", "mapped_queries"):
                shares = getattr(judged, name)
                low, high = mean_share_interval(shares)
                record[name] = float(shares.mean())
                record[f"{name}_ci_low"] = low
                record[f"{name}_ci_high"] = high
            record["mean_angle"] = float(judged.angles.mean())
            record["covering_angle"] = judged.covering_angle
            records.append(record)
        return records

    def to_frame(self) -> pd.DataFrame:
        """Return one row per map; see `records`."""
        return frame_of(self.records())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        half, hundredth = self.condition_numbers or (None, None)
        return plain_dict(
            {
                "title": self.title,
                "columns": self.columns,
                "n_paired": self.n_paired,
                "n_groups": self.n_groups,
                "n_fitted": self.n_fitted,
                "n_judged": self.n_judged,
                "top_n": self.n,
                "top_n_dense": self.n_dense,
                "n_lists": len(self.without_map),
                "advice": self.advice.value,
                "map": self.used.kind,
                "maps": self.records(),
                "least_angle_of_rotations": self.least_angle,
                "condition_number_of_half": half,
                "condition_number_of_99_percent": hundredth,
                "n_pairs": self.n_pairs,
                "thresholds": self.used.carried,
                "explanation": self.explain(),
            }
        )


def _at_least(condition_number: float) -> str:
    """Write a lower bound of a condition number, rounded down.

    Examples
    --------
    >>> _at_least(1.459), _at_least(np.inf)
    ('1.45', '∞')
    """
    if np.isinf(condition_number):
        return "∞"
    return f"{down(condition_number):.2f}"


def _name(kind: MapKind) -> str:
    """Name a map in a sentence."""
    if kind == "linear":
        return "linear map"
    return kind


@named_keywords
def space_map(
    old: FactorModel | AnyPath | object,
    new: FactorModel | AnyPath | object,
    *,
    n_neighbours: int | None = None,
    by_row: bool | None = None,
    partial: bool = False,
    same_numbers: bool = False,
    rng: RNG = 0,
) -> SpaceMap:
    """Decide whether the vectors of an old encoder can be mapped into a new space.

    Parameters
    ----------
    old, new : FactorModel, path or object
        Vectors of the same documents by two encoders, or objects that `embaudit.load`
        reads. Of models of two sides, the right sides are compared.
    n_neighbours : int, optional
        Length of the lists, at most a third of the other judged rows. The default is
        10, or this largest length if it is smaller.
    by_row : bool, optional
        True if the rows of both tables are the same documents in the same order, so
        ids are ignored. This is the default for tables without ids.
    partial : bool
        True if less than half of the smaller table may match.
    same_numbers : bool
        As for `compare`.
    rng : numpy Generator or int
        Draws the halves of the rows, the lists and the pairs.

    Returns
    -------
    SpaceMap
        Whether a rotation or a linear map is enough, with the lists that each keeps.

    Raises
    ------
    InputError
        If fewer than 20 different rows are paired, if ids do not match, if lists
        would hold more than a third of the other judged rows, or if rows were compared
        by distance in the Poincaré ball, which no rotation about the origin and no
        linear map describes.

    Notes
    -----
    Half of the paired rows, or 100,000 of them, fit the maps. The others, or 50,000 of
    them, are documents and queries of the comparison. A row does not list itself. Rows
    that duplicate each other in both tables count once, because a map that was fitted
    to a row would otherwise be judged by its duplicates. Near-duplicates are all fitted
    or all judged, for the same reason: see `embaudit.serving.near_duplicates`.

    Examples
    --------
    A rotated copy is mapped back without loss:

    >>> draw = np.random.default_rng(0)
    >>> rows = draw.standard_normal((200, 3))
    >>> turn = np.linalg.qr(draw.standard_normal((3, 3)))[0]
    >>> found = space_map({"vectors": rows}, {"vectors": rows @ turn})
    >>> found.advice.value, float(found.rotation.mapped_rows.mean())
    ('rotation', 1.0)
    >>> print(found.conclusion)
    A rotation is enough: it keeps 100 % (96 % to 100 %) of the new encoder's top 10 ...
    """
    draw = as_generator(rng)
    old_model, new_model = read(old).model, read(new).model
    title = new_model.title("right")
    measure = _measure_of(new_model)
    matched = match(
        old_model,
        new_model,
        "right",
        by_row=by_row,
        partial=partial,
        same_numbers=same_numbers,
    )
    stored = PairedRows(
        taken_rows(old_model.right, matched.before),
        taken_rows(new_model.right, matched.after),
        of_unit_length=measure == "cosine",
    )
    usable = _different(
        _directed(stored),
        representatives_of(old_model, "right"),
        representatives_of(new_model, "right"),
        matched,
    )
    if len(usable) < FEWEST_ROWS:
        raise must_be(
            f"the number of different {title}s with a nonzero row in both encoders",
            f"at least {FEWEST_ROWS}",
            len(usable),
            f"embed more {title}s with both encoders",
        )
    drawn = draw.permutation(usable)[: MOST_FITTED + MOST_JUDGED]
    halves = _halves(drawn, near_duplicate_groups(stored, drawn))
    judged = halves.judged
    fitted = np.sort(np.concatenate([halves.fitted, halves.tuning]))
    _require_short_lists(n_neighbours, len(judged), title)
    n = list_length(n_neighbours, len(judged))
    judgement = _Judgement(
        rows=PairedRows(
            taken_rows(stored.old, judged),
            taken_rows(stored.new, judged),
            stored.of_unit_length,
        ),
        measure=measure,
        n=n,
        n_dense=max(1, round(n * len(judged) / len(usable))),
        queries=sample_rows(halves.queries, N_QUERIES, draw),
    )
    linear = linear_fit(stored, halves.fitted, halves.tuning)
    fitted_sums = PairSums.from_rows(stored, fitted)
    judged_sums = PairSums.from_rows(stored, judged)
    pairs = draw_pairs(len(judged), N_PAIRS, rng=draw)
    least = numbers = None
    # A map that drops columns can change every angle, so nothing limits it.
    if old_model.rank <= new_model.rank:
        old_tangents = half_angles_of_pairs(judgement.rows.old, pairs)
        new_tangents = half_angles_of_pairs(judgement.rows.new, pairs)
        least = least_angle(old_tangents, new_tangents)
        numbers = condition_numbers(old_tangents, new_tangents)
    return SpaceMap(
        title=title,
        columns=(old_model.rank, new_model.rank),
        n_paired=len(usable),
        n_groups=halves.n_groups,
        n_fitted=len(fitted),
        n_judged=len(judged),
        n=n,
        n_dense=judgement.n_dense,
        rotation=judgement.judge(rotation(fitted_sums), draw),
        linear=judgement.judge(linear.map, draw),
        without_map=judgement.without_map(),
        least_angle=least,
        condition_numbers=numbers,
        n_pairs=len(pairs),
        final={
            "rotation": rotation(fitted_sums + judged_sums),
            "linear": linear.with_rows(stored, judged).map,
        },
    )


def _require_short_lists(n: int | None, n_judged: int, title: str) -> None:
    """Raise InputError if lists hold more than a third of the other judged rows.

    Longer lists agree by chance, even if the vectors of both encoders are unrelated.
    """
    require_length(n, n_judged)
    longest = max(1, round((n_judged - 1) / 3))
    if n is not None and n > longest:
        raise must_be(
            "n_neighbours",
            f"at most {longest:,}, a third of the {n_judged - 1:,} other rows that "
            "judge a map",
            n,
            f"embed more {title}s with both encoders for longer lists",
        )


def _measure_of(model: FactorModel) -> Measure:
    """Return the measure by which the rows of the new encoder are compared.

    Documents of a model of two sides are compared with each other by cosine.
    """
    if model.left_side is not None:
        return "cosine"
    measure = trained_measure(model) or "cosine"
    if measure == "hyperbolic":
        raise must_be(
            "the vectors of the new encoder",
            "compared by cosine, dot product or Euclidean distance",
            "compared by distance in the Poincaré ball",
            "embed the documents again, because no linear map keeps these distances",
        )
    return measure


def _directed(rows: PairedRows) -> Indices:
    """Return the places of the pairs whose rows have a direction in both tables."""
    has_direction = np.empty(len(rows), dtype=bool)
    n_columns = rows.old.shape[1] + rows.new.shape[1]
    for block in row_blocks(len(rows), n_columns):
        old, new = rows.old_rows(block), rows.new_rows(block)
        has_direction[block] = old.any(axis=1) & new.any(axis=1)
    return np.flatnonzero(has_direction)


def _different(
    places: Indices,
    old_groups: Indices | None,
    new_groups: Indices | None,
    matched: Match,
) -> Indices:
    """Return the first of each set of pairs that are duplicates in both tables.

    Parameters
    ----------
    places : array of int
        Places of pairs in `matched`.
    old_groups, new_groups : array of int, optional
        For each row of a table, the row that it duplicates; None without duplicates.
    """
    if old_groups is None or new_groups is None:
        return places
    groups = np.column_stack(
        [
            old_groups[matched.before[places]],
            new_groups[matched.after[places]],
        ]
    )
    _, first = np.unique(groups, axis=0, return_index=True)
    return np.asarray(places[np.sort(first)])


@dataclass(frozen=True, eq=False)
class _Halves:
    """Places of the rows that fit a map, and of those that judge it, in order.

    Rows are read faster in the order in which they are stored.
    """

    fitted: Indices
    """Places that the maps are fitted to."""
    tuning: Indices
    """Further places, which choose the penalty before the maps are fitted to them."""
    judged: Indices
    """Places that judge the maps."""
    queries: Indices
    """Numbers of judged places, one of each group of near-duplicates."""
    n_groups: int
    """Number of groups of near-duplicates."""


def _halves(places: Indices, groups: Indices) -> _Halves:
    """Divide rows in halves, without a division of a group of near-duplicates.

    Parameters
    ----------
    places : array of int (m,)
        Places of rows in random order.
    groups : array of int (m,)
        The group of each row.
    """
    _, first, groups = np.unique(groups, return_index=True, return_inverse=True)
    # Groups in the order of their first rows, and within a group the order of the rows.
    ranks = first[groups]
    order = np.lexsort((np.arange(len(places)), ranks))
    places, ranks = places[order], ranks[order]
    starts = np.flatnonzero(np.diff(ranks, prepend=-1))
    n_fitted = _last_start(starts, min(len(places) // 2, MOST_FITTED))
    n_tuning = _last_start(starts, round(RIDGE_PART * n_fitted))
    judged = places[n_fitted : n_fitted + MOST_JUDGED]
    judged_ranks = ranks[n_fitted : n_fitted + MOST_JUDGED]
    order = np.argsort(judged)
    _, queries = np.unique(judged_ranks[order], return_index=True)
    return _Halves(
        fitted=np.sort(places[n_tuning:n_fitted]),
        tuning=np.sort(places[:n_tuning]),
        judged=judged[order],
        queries=np.sort(queries),
        n_groups=len(np.unique(ranks[: n_fitted + len(judged)])),
    )


def _last_start(starts: Indices, most: int) -> int:
    """Return the last start of a group up to `most`, but not the first start."""
    candidates = starts[starts <= most]
    return int(max(candidates[-1], starts[1]))


@dataclass(frozen=True, eq=False)
class _Judgement:
    """Rows that took no part in a fit, and lists of some of them."""

    rows: PairedRows
    """The rows."""
    measure: Measure
    """How rows are compared."""
    n: int
    """Length of the lists."""
    n_dense: int
    """Length of the lists that reach as far as lists of length n among all rows."""
    queries: Indices
    """(m,) places of the rows whose lists are compared."""

    @cached_property
    def wanted(self) -> BestMatches:
        """The lists of the new encoder."""
        return self._lists(self.rows.new, self.rows.new_rows(self.queries))

    def without_map(self) -> Floats:
        """Return the share of each list that the old encoder lists itself, (m,)."""
        listed = self._lists(self.rows.old, self.rows.old_rows(self.queries))
        return self._shares(listed)

    def judge(self, fitted: FittedMap, draw: np.random.Generator) -> JudgedMap:
        """Compare the lists of mapped rows with the lists of the new encoder."""
        rows = self.rows
        mapped = Mapped(
            rows.old, lambda block: block @ fitted.forward, rows.new.shape[1]
        )
        new_queries = rows.new_rows(self.queries)
        among_mapped = self._lists(mapped, new_queries)
        among_old = self._lists(rows.old, new_queries @ fitted.backward)
        return JudgedMap(
            fitted=fitted,
            mapped_rows=self._shares(among_mapped),
            mapped_rows_dense=shares_kept(
                self.wanted.shortened(self.n_dense),
                among_mapped.shortened(self.n_dense),
                self._tie,
            ),
            mapped_queries=self._shares(among_old),
            angles=self._angles(fitted),
            carried=self._thresholds(mapped, draw),
        )

    def _lists(self, listed: Rows, queries: Floats) -> BestMatches:
        """List the nearest rows of queries, without the rows of the queries."""
        order = Order(self.measure, listed)
        return best_matches(order, queries, self.n, own=self.queries)

    def _shares(self, lists: BestMatches) -> Floats:
        return shares_kept(self.wanted, lists, self._tie)

    @property
    def _tie(self) -> float:
        """Largest difference of equal values, relative to their sizes."""
        return max(tie_of(self.rows.old), tie_of(self.rows.new))

    def _angles(self, fitted: FittedMap) -> Floats:
        """Return the angle in degrees between each mapped row and its new row, (n,)."""
        angles = np.empty(len(self.rows))
        n_columns = self.rows.old.shape[1] + self.rows.new.shape[1]
        for block in row_blocks(len(self.rows), n_columns):
            mapped = self.rows.old_rows(block) @ fitted.forward
            tangents = half_angle_tangents(mapped, self.rows.new_rows(block))
            angles[block] = np.degrees(2 * np.arctan(tangents))
        # A row that the map carries to 0 is as far away as a row can be.
        return np.nan_to_num(angles, nan=180.0)

    def _thresholds(
        self, mapped: Mapped, draw: np.random.Generator
    ) -> tuple[CarriedThreshold, ...]:
        """Carry thresholds on old cosines to cosines of new queries and mapped rows."""
        if self.measure != "cosine":
            return ()
        places = sample_rows(len(self.rows), THRESHOLD_ROWS, draw)
        return thresholds(
            self.rows.old_rows(places),
            mapped[places],
            draw,
            queries=self.rows.new_rows(places),
        )


def half_angles_of_pairs(rows: Rows, pairs: Indices) -> Floats:
    """Return `tan(θ/2)` of the angle θ between the two rows of each pair, (m,)."""
    tangents = np.empty(len(pairs))
    for block in row_blocks(len(pairs), 2 * rows.shape[1]):
        first, second = [
            np.array(rows[numbers], dtype=np.float64) for numbers in pairs[block].T
        ]
        tangents[block] = half_angle_tangents(first, second)
    return tangents


def least_angle(old_tangents: Floats, new_tangents: Floats) -> float:
    """Return the mean angle in degrees that every rotation leaves at least.

    A rotation leaves angles ε to the new rows with `ε_i + ε_j ≥ |θ_old − θ_new|` for
    each pair of rows. So the mean of half of the right side over pairs that are drawn
    at random is, up to the draw, no larger than the mean of ε.

    Parameters
    ----------
    old_tangents, new_tangents : array of shape (m,)
        `tan(θ/2)` of each pair.

    Examples
    --------
    >>> round(least_angle(np.array([0.0, 1.0]), np.array([0.0, 0.0])), 6)
    22.5
    """
    change = 2 * np.abs(np.arctan(old_tangents) - np.arctan(new_tangents))
    return float(np.degrees(change.mean() / 2))


def condition_numbers(
    old_tangents: Floats, new_tangents: Floats
) -> tuple[float, float]:
    """Return the condition numbers that half of the pairs need, and one in a hundred.

    Parameters
    ----------
    old_tangents, new_tangents : array of shape (m,)
        `tan(θ/2)` of each pair.

    Examples
    --------
    >>> condition_numbers(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 0.25]))
    (2.0, 4.0)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = new_tangents / old_tangents
        needed = np.maximum(ratios, 1 / ratios)
    # Two rows that are parallel in both tables need no change.
    needed[old_tangents == new_tangents] = 1
    half, most = np.quantile(needed, (0.5, 0.99), method="inverted_cdf")
    return float(half), float(most)
