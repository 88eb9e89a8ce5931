"""Two spaces in one table: parts of the rows that do not share one coordinate system.

A table can hold rows of two models, for example if a re-embedding stopped half way.
Cosines across the parts then mean nothing, and no comparison of rows with rows shows
it. If the spaces are unrelated, the second part lies to the first as if it was turned
by a random rotation. The parts are reported only if every statistic says so:

1. the alignment of the second moments of the parts (`embaudit.linalg.alignment`),
2. their principal directions (`embaudit.linalg.relatedness.shared_directions`),
3. their third and fourth moments (`embaudit.linalg.relatedness.aligned_shapes`).

The alignment alone is not enough. Parts of one space that have different contents, such
as popular and rare films, agree in some directions and avoid each other in others, and
both can cancel in the alignment. This is likely for one of the many segments that are
compared. The alignment is computed for all of them, because it is cheap.

The parts are known if several files were read as one table, or if a column names them.
Otherwise they are searched for: the rows in their order are cut into 20 blocks, and
every contiguous segment of blocks is compared with the other blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from embaudit.canonical.row_span import DEAR, in_span, spanning_bases, turned
from embaudit.core.checked import Floats, Indices
from embaudit.core.ties import first_largest
from embaudit.core.words import listed, visible
from embaudit.linalg.alignment import MOMENT_BYTES, BlockMoments
from embaudit.linalg.relatedness import aligned_shapes, shared_directions
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.model import FactorModel, Side, SideName
from embaudit.movements.twins import representatives_of, without_copies

BLOCKS = 20
"""Blocks into which a table is cut, in the order of its rows."""
PART_BLOCKS = 2
"""Blocks into which each known part is cut, to see how alike its rows are."""
MIN_BLOCK = 10
"""Number of rows of a block, at least."""
MIN_PART = 30
"""Number of rows of a known part, at least."""
MAX_PARTS = 50
"""Number of known parts that are compared, at most."""
UNRELATED = 4.0
"""|z| below which two parts align no better than unrelated ones, and z from which a
block belongs to its part.
"""
UNRELATED_SHAPES = 6.0
"""Deviation below which two parts have third or fourth moments as unrelated as after a
random rotation. Such moments have heavier tails than second moments: for two parts that
are one spike each, 4 is exceeded with a probability of 1 %.
"""
USUAL_DEVIATION = 5.5
"""Length of the vector of all deviations from which parts agree more than unrelated
parts usually do. It was chosen while looking at tables, as the two bounds above were.
On fresh tables it was checked twice. Of 222 tables that had a randomly turned part and
that were found, 1 exceeded it. Of 31 tables of one space that passed every other test,
17 exceeded it. The figures are in docs/theory.md, Two spaces in one table.
"""
SHAPE_ROWS = 2_000
"""Number of rows of a part from which third and fourth moments are computed, at most.
"""
POWER = 8.0
"""z above which the halves of a part align clearly, so that the test could have seen an
alignment.
"""
MIN_EFFECTIVE_RANK = 5.0
"""Effective rank of a part below which nothing is decided: the distribution of a is
then far from normal.
"""
MIN_MEAN_DIRECTION = 0.5
"""Length of the mean of the unit rows from which topics of one space would show it in
each part.
"""
MIN_SHARED = 0.5
"""Share of the variance of a part that its blocks have in common. From this share on,
the part is not taken for a set of separate topics.
"""
CLEAR_SHARE = 1e-6
"""Share of the variance of unit rows from which a direction is clearly used, because
rounding, also that to float16, leaves less than 1e-7 in an empty column.
"""
NAMED = 3
"""Number of parts that are named, at most."""
MOST_ROWS = 20_000
"""Number of rows that are compared, at most."""
MOST_WIDE_ROWS = 2_048
"""The same for rows so wide that the moments of all blocks exceed `MOMENT_BYTES`."""
MOST_PRODUCTS = 6_000_000_000
"""Number of products of two entries that the moments of all rows may take; wider rows
are compared in smaller numbers.
"""
BOUNDARY_COLUMNS = 128
"""Principal directions in which the boundary is located, at most."""
BOUNDARY_ROWS = 1_024
"""Number of rows from which these directions are computed, at most."""
SHRINKAGE = 0.7
"""Weight of the identity in the covariance of a part. In 15 tables of 500 rows,
boundaries were off by up to 3 rows with 0.7, and by up to 32 rows with 0.1, because the
covariance of few rows fits these rows too well.
"""
MIN_GAIN = 10.0
"""Log-likelihood that a boundary near an end of the table must gain. Chance alone gains
t with probability e⁻ᵗ.
"""


@dataclass(frozen=True)
class Relation:
    """Agreement of two parts, in standard deviations from unrelated parts."""

    directions: float
    """Agreement of the principal directions of the centred parts."""
    shapes: tuple[float, float]
    """Agreement of the centred parts in their third and in their fourth moments."""

    @classmethod
    def from_rows(cls, first: Floats, second: Floats) -> Relation:
        """Measure the agreement of two sets of unit rows.

        Both sets are centred, so that a shift of all rows, which moves the mean row of
        both parts alike, does not count as agreement.
        """
        first, second = first - first.mean(axis=0), second - second.mean(axis=0)
        first_shape, second_shape = _directions_of(first), _directions_of(second)
        return cls(
            directions=shared_directions(first, second),
            shapes=(
                aligned_shapes(first_shape, second_shape, degree=3),
                aligned_shapes(first_shape, second_shape, degree=4),
            ),
        )

    @property
    def exists(self) -> bool:
        """True if a random rotation of one part does not explain the agreement.

        Principal directions of unrelated parts agree too much, never too little,
        because their statistic is a sum of squares. Moments that avoid each other are
        related as much as moments that agree.
        """
        agrees = self.directions >= UNRELATED
        return agrees or any(abs(z) >= UNRELATED_SHAPES for z in self.shapes)


def _directions_of(rows: Floats) -> Floats:
    """Scale evenly spaced rows to length 1; skip rows without a direction."""
    rows = rows[:: math.ceil(len(rows) / SHAPE_ROWS)]
    unit = unit_rows(rows)
    return unit[np.isfinite(unit).all(axis=1)]


@dataclass(frozen=True)
class TwoSpaces:
    """Two parts of the rows of a side that seem to have two coordinate systems."""

    first: str
    """The first part, in words."""
    second: str
    """The second part, in words."""
    boundaries: tuple[int, ...]
    """Rows at which another part begins; none if the parts were known beforehand."""
    ids: tuple[tuple[str, str], ...]
    """For each boundary the ids of the rows before and after it; none if the rows have
    no ids.
    """
    z_centred: float
    """Alignment of the parts by centred moments, in standard deviations from the
    alignment of unrelated systems.
    """
    z_uncentred: float
    """The same by uncentred moments."""
    relation: Relation
    """Agreement of the parts in other respects, in the same unit."""
    z_own: float
    """Smallest alignment of a block of rows with the other blocks of its own part, in
    the same unit.
    """
    across: float
    """Share of all pairs of rows that lie in different parts."""
    mean_direction: float
    """Length of the mean of the unit rows: of all rows, or of the part where it is
    shorter.
    """
    shared: float
    """Share of the variance within a part that its blocks have in common; of the part
    with the smaller share.
    """
    n_compared: int
    """Number of distinct rows that were compared."""
    n_distinct: int
    """Number of distinct rows with a direction."""

    @property
    def deviation(self) -> float:
        """Length of the vector of all five deviations from unrelated systems."""
        # Principal directions cannot agree less than in unrelated systems.
        directions = max(self.relation.directions, 0.0)
        return math.hypot(
            self.z_centred, self.z_uncentred, directions, *self.relation.shapes
        )

    @property
    def is_usual(self) -> bool:
        """True if the deviation is not larger than usual for unrelated systems."""
        return self.deviation < USUAL_DEVIATION

    @property
    def is_clear(self) -> bool:
        """True if neither chance nor topics in separate subspaces can be the reason."""
        no_topics = (
            self.mean_direction >= MIN_MEAN_DIRECTION or self.shared >= MIN_SHARED
        )
        return self.is_usual and no_topics


@dataclass(frozen=True, eq=False)
class BlockTable:
    """Distinct unit rows of a table, in blocks with separate halves."""

    rows: Floats
    """(n, d) unit rows, in their order within each block."""
    blocks: tuple[Indices, ...]
    """Places of the rows of each block."""

    def _moments(self, *, centred: bool) -> BlockMoments:
        """Compute the moments of the even and of the odd rows of every block.

        If they are centred, the mean row of the block is subtracted.
        """
        halves = []
        for block in self.blocks:
            rows = self.rows[block]
            if centred:
                rows = rows - rows.mean(axis=0)
            halves += [rows[0::2], rows[1::2]]
        return BlockMoments.from_blocks(halves)

    @cached_property
    def kinds(self) -> tuple[BlockMoments, BlockMoments]:
        """Centred and uncentred moments of half blocks.

        Block b has the halves 2b and 2b + 1.
        """
        return self._moments(centred=True), self._moments(centred=False)

    def z_between(self, first: Indices, second: Indices) -> tuple[float, float]:
        """Compare two sets of blocks by centred and by uncentred moments."""
        centred, uncentred = self.kinds
        first_halves, second_halves = _halves(first), _halves(second)
        return (
            centred.alignment(first_halves, second_halves).z,
            uncentred.alignment(first_halves, second_halves).z,
        )

    def z_halves(self, part: Indices) -> float:
        """Compare the even and the odd rows of a part by the better aligned moments."""
        return max(kind.alignment(2 * part, 2 * part + 1).z for kind in self.kinds)

    def z_own(self, part: Indices) -> float:
        """Compare each block of a part with its other blocks; return the smallest z."""
        return min(
            max(self.z_between(part[[place]], np.delete(part, place)))
            for place in range(len(part))
        )

    def rows_of(self, part: Indices) -> Floats:
        """Return the rows of a part."""
        places = np.concatenate([self.blocks[block] for block in part])
        rows: Floats = self.rows[places]
        return rows

    def n_rows(self, part: Indices) -> int:
        """Count the rows of a part."""
        return sum(len(self.blocks[block]) for block in part)

    def mean_length(self, part: Indices) -> float:
        """Compute the length of the mean row of a part."""
        return float(np.linalg.norm(self.rows_of(part).mean(axis=0)))

    def effective_rank(self, part: Indices) -> float:
        """Compute the effective rank of the centred moments of a part."""
        return self.kinds[0].effective_rank(_halves(part))

    def shared(self, part: Indices) -> float:
        """Estimate the share of the variance of a part that its blocks have in common.

        It is the mean of tr(S_b S_c) − 1/d over different blocks, divided by the mean
        of tr(S_b²) − 1/d. Each moment has trace 1, and blocks of unrelated systems have
        1/d in common on average. The mean of tr(S_b²) is computed from the two halves
        of b, because the square of a moment of few rows is too large on average. The
        share is 1 if all blocks have one covariance, and near 1/k for k topics in
        unrelated subspaces.
        """
        centred = self.kinds[0]
        traces = centred.traces
        own = [
            centred.products[2 * b, 2 * b + 1] / (traces[2 * b] * traces[2 * b + 1])
            for b in part
        ]
        blocks = centred.pooled([_halves(np.array([b])) for b in part])
        products = blocks.products / np.outer(blocks.traces, blocks.traces)
        n_blocks = len(part)
        between = (products.sum() - np.trace(products)) / (n_blocks * (n_blocks - 1))
        chance = 1 / centred.n_columns
        return float((between - chance) / (np.mean(own) - chance))


def _halves(blocks: Indices) -> Indices:
    """Return the numbers of the halves of some blocks."""
    return np.concatenate([2 * blocks, 2 * blocks + 1])


@dataclass(frozen=True, eq=False)
class _Split:
    """Two sets of blocks, in words."""

    table: BlockTable
    parts: tuple[Indices, Indices]
    names: tuple[str, str]
    relation: Relation
    boundaries: tuple[int, ...] = ()


def two_spaces(
    model: FactorModel,
    role: SideName,
    parts: NDArray[np.str_] | None = None,
    *,
    rng: np.random.Generator,
) -> TwoSpaces | None:
    """Look for two parts of the rows of a side with different coordinate systems.

    Equal rows count once. Known parts are compared first. If they all align, or no
    parts are known, contiguous segments of the rows are compared with the other rows.

    Parameters
    ----------
    model : FactorModel
        Vectors of one side, or rows that are compared with each other.
    role : {"left", "right"}
        Side of the rows.
    parts : array of str, shape (n,), optional
        The name of the part of each row; empty for a row of no part.
    rng : numpy Generator
        Draws rows if there are more than are compared.

    Returns
    -------
    TwoSpaces or None
        None if no two such parts were found, or there are too few rows to decide.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> rows = draw.normal(size=(600, 24)) / np.sqrt(np.arange(1, 25))
    >>> rows[400:] = rows[400:] @ np.linalg.qr(draw.normal(size=(24, 24)))[0]
    >>> found = two_spaces(FactorModel.from_vectors(rows), "right", rng=draw)
    >>> found.first, found.second
    ('rows 0 to 399', '400 to 599')
    """
    representatives = representatives_of(model, role)
    side = model.side(role)
    distinct = without_copies(side.directed, representatives)
    side = _in_spanned_columns(model, role, n_rows=len(distinct)).side(role)
    if side.shape[1] < 2 or len(distinct) < 2 * MIN_PART:
        return None
    kept = sample_rows(distinct, _most_rows(side.shape[1], parts), rng)
    rows = unit_rows(side.rows[kept])
    split = None
    if parts is not None:
        split = _of_parts(rows, parts[kept])
    if split is None and len(kept) >= BLOCKS * MIN_BLOCK:
        split = _in_order(rows, kept, len(side))
    if split is None:
        return None
    return _described(split, side.ids, n_compared=len(kept), n_distinct=len(distinct))


def _in_spanned_columns(model: FactorModel, role: SideName, n_rows: int) -> FactorModel:
    """Express the rows in the dimensions that they span.

    All statistics depend on the number of dimensions, and columns of zeros must not
    count, also if they were rotated afterwards. Other columns are kept if the rows
    could hardly span more dimensions because they are few. The number of columns is
    then the only evidence of how many dimensions there are. Of more than `DEAR`
    columns, only columns of zeros are dropped.
    """
    if model.rank <= DEAR and _sample_spans_all_columns(model.side(role)):
        return model
    basis = spanning_bases(model)[0]
    # Centring each of the known parts takes one dimension per part from the rows.
    if basis is not None and basis.shape[1] >= n_rows - MAX_PARTS:
        return in_span(model, most=model.rank)
    return turned(model, basis)


def _sample_spans_all_columns(side: Side) -> bool:
    """Return True if a sample of rows has a clear share of its variance everywhere.

    This cheap test spares most tables the principal axes.
    """
    n_columns = side.shape[1]
    n_rows = len(side.directed)
    n_sampled = min(n_rows, n_columns + n_columns // 4)
    if n_sampled < n_columns:
        return False
    places = np.linspace(0, n_rows - 1, n_sampled).astype(int)
    rows = unit_rows(side.rows[side.directed[places]])
    moments = rows.T @ rows / n_sampled
    try:
        np.linalg.cholesky(moments - CLEAR_SHARE * np.eye(n_columns))
    except np.linalg.LinAlgError:
        return False
    return True


def _most_rows(n_columns: int, parts: NDArray[np.str_] | None) -> int:
    """Return how many rows are compared at most."""
    n_parts = 0
    if parts is not None:
        n_parts = min(len(np.unique(parts)), MAX_PARTS)
    # Each block has two halves, and each half has a moment.
    n_moments = 2 * max(BLOCKS, PART_BLOCKS * n_parts)
    if n_moments * n_columns**2 * 8 > MOMENT_BYTES:
        return MOST_WIDE_ROWS
    return min(MOST_ROWS, MOST_PRODUCTS // n_columns**2)


def _described(
    split: _Split,
    ids: NDArray[np.str_] | None,
    *,
    n_compared: int,
    n_distinct: int,
) -> TwoSpaces:
    """Measure the two parts that were found."""
    table = split.table
    first, second = split.parts
    z_centred, z_uncentred = table.z_between(first, second)
    n_first, n_second = table.n_rows(first), table.n_rows(second)
    both = np.concatenate([first, second])
    boundary_ids: tuple[tuple[str, str], ...] = ()
    if ids is not None:
        boundary_ids = tuple(
            (str(ids[row - 1]), str(ids[row])) for row in split.boundaries
        )
    return TwoSpaces(
        *split.names,
        boundaries=split.boundaries,
        ids=boundary_ids,
        z_centred=z_centred,
        z_uncentred=z_uncentred,
        relation=split.relation,
        z_own=min(table.z_own(first), table.z_own(second)),
        across=2 * n_first * n_second / (n_first + n_second) ** 2,
        mean_direction=min(table.mean_length(part) for part in (first, second, both)),
        shared=min(table.shared(first), table.shared(second)),
        n_compared=n_compared,
        n_distinct=n_distinct,
    )


def _look_unrelated(table: BlockTable, first: Indices, second: Indices) -> bool:
    """Return True if two parts align in neither kind of moments although they could.

    This is the cheap test, which parts of one space can pass; see `Relation`.
    """
    align = any(abs(z) >= UNRELATED for z in table.z_between(first, second))
    return not align and _decides(table, first) and _decides(table, second)


def _decides(table: BlockTable, part: Indices) -> bool:
    """Return True if the test could see an alignment with a part.

    It can if the part aligns with itself in more than a few axes.
    """
    has_power = table.z_halves(part) > POWER
    return has_power and table.effective_rank(part) >= MIN_EFFECTIVE_RANK


def _in_order(rows: Floats, kept: Indices, n_rows: int) -> _Split | None:
    """Find the contiguous segment of blocks that does not align with the other blocks.

    A boundary can lie inside a block, so a block next to an inner edge of the segment
    belongs to neither part. If several segments are found, which differ by a block, the
    segment that skips the fewest blocks is taken, and among these the segment whose
    blocks fit their parts best.
    """
    blocks = tuple(np.array_split(np.arange(len(rows)), BLOCKS))
    table = BlockTable(rows, blocks)
    numbers = np.arange(BLOCKS)
    fits, segments = [], []
    for start in range(BLOCKS):
        for stop in range(start + 2, BLOCKS + 1):
            first = numbers[start:stop]
            second = numbers[(numbers < start - 1) | (numbers > stop)]
            if len(second) < 2 or not _look_unrelated(table, first, second):
                continue
            fit = min(table.z_own(part) for part in (first, second))
            if fit >= UNRELATED:
                fits.append(fit)
                segments.append((first, second))
    if not segments:
        return None
    covered = np.array([len(first) + len(second) for first, second in segments])
    segment, others = segments[
        first_largest(np.where(covered == covered.max(), fits, 0.0))
    ]
    places = _boundaries(table, segment, others)
    # The parts are cut at these boundaries and not at the ends of blocks, because half
    # a block of rows of the other space would be a relation of the parts.
    relation = Relation.from_rows(*_alternating(rows, places))
    if relation.exists:
        return None
    boundaries = tuple(int(kept[place]) for place in places)
    return _Split(
        table,
        (segment, others),
        _ranges(boundaries, n_rows),
        relation,
        boundaries,
    )


def _alternating(rows: Floats, boundaries: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the rows of the two parts that alternate between the boundaries.

    Rows closer to a boundary than half a block are skipped, because the boundary can be
    off by a few rows.
    """
    places = np.arange(len(rows))
    margin = len(rows) // (2 * BLOCKS)
    distances = np.abs(places[:, None] - np.array(boundaries))
    is_clear = distances.min(axis=1) >= margin
    is_second = np.searchsorted(boundaries, places, side="right") % 2 == 1
    return rows[is_clear & ~is_second], rows[is_clear & is_second]


def _ranges(boundaries: Sequence[int], n_rows: int) -> tuple[str, str]:
    """Name the rows of two parts that alternate between the boundaries.

    Examples
    --------
    >>> _ranges([250], 500)
    ('rows 0 to 249', '250 to 499')
    >>> _ranges([100, 250], 500)
    ('rows 100 to 249', 'all other rows')
    >>> _ranges([100, 250, 400], 500)
    ('rows 100 to 249 and 400 to 499', 'all other rows')
    """
    edges = [0, *boundaries, n_rows]
    stretches = [f"{start} to {stop - 1}" for start, stop in pairwise(edges)]
    if len(boundaries) == 1:
        return f"rows {stretches[0]}", stretches[1]
    return f"rows {' and '.join(stretches[1::2])}", "all other rows"


def _boundaries(table: BlockTable, segment: Indices, others: Indices) -> list[int]:
    """Locate the ends of a segment among the rows by maximum likelihood.

    Each end is searched in the block that belongs to neither part and in the two blocks
    next to it. No segment shows an end inside the first or the last block of the table,
    so such an end is always searched and must raise the likelihood clearly.
    """
    in_segment = _gains(table, segment, others)
    in_others = -in_segment
    # The other part has a block before the segment only if one block is between them.
    starts_with_others = segment[0] > 1
    ends_with_others = segment[-1] < BLOCKS - 2
    boundaries = []

    in_strange_part = in_segment if starts_with_others else in_others
    n_strange = _n_leading(in_strange_part[table.blocks[0]], least=MIN_GAIN)
    if n_strange > 0:
        boundaries.append(n_strange)

    if starts_with_others:
        window = _around(table, int(segment[0]) - 1)
        boundaries.append(window.start + _n_leading(in_others[window]))
    if ends_with_others:
        window = _around(table, int(segment[-1]) + 1)
        boundaries.append(window.start + _n_leading(in_segment[window]))

    in_strange_part = in_segment if ends_with_others else in_others
    from_the_end = in_strange_part[table.blocks[-1]][::-1]
    n_strange = _n_leading(from_the_end, least=MIN_GAIN)
    if n_strange > 0:
        boundaries.append(len(table.rows) - n_strange)
    return boundaries


def _gains(table: BlockTable, segment: Indices, others: Indices) -> Floats:
    """Compute how much likelier each row is in the segment than in the other part.

    The rows of each part are taken as normal with the covariance of that part. A gain
    is a difference of log-densities, which is positive for a row of the segment.
    """
    table = BlockTable(_in_principal_directions(table.rows), table.blocks)
    return _log_likelihood(table.rows_of(segment), table.rows) - _log_likelihood(
        table.rows_of(others), table.rows
    )


def _around(table: BlockTable, block: int) -> slice:
    """Return the rows of a block and of the two blocks next to it."""
    start = int(table.blocks[block - 1][0])
    stop = int(table.blocks[block + 1][-1]) + 1
    return slice(start, stop)


def _n_leading(gains: Floats, least: float = 0.0) -> int:
    """Count the leading rows with the largest sum of gains.

    It is 0 if this sum is not larger than `least`.

    Examples
    --------
    >>> _n_leading(np.array([2.0, -1.0, 3.0, -5.0, 1.0]))
    3
    >>> _n_leading(np.array([2.0, -1.0, 3.0, -5.0, 1.0]), least=4.0)
    0
    """
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    n_leading = first_largest(sums)
    if sums[n_leading] <= least:
        return 0
    return n_leading


def _in_principal_directions(rows: Floats) -> Floats:
    """Keep the coordinates of rows in their first principal directions."""
    if rows.shape[1] <= BOUNDARY_COLUMNS:
        return rows
    step = math.ceil(len(rows) / BOUNDARY_ROWS)
    sample = rows[::step]
    if len(sample) < rows.shape[1]:
        # The principal directions of few rows are mixtures of these rows, so only the
        # weights of the mixtures have to be computed.
        weights = np.linalg.eigh(sample @ sample.T)[1][:, -BOUNDARY_COLUMNS:]
        directions = np.linalg.qr(sample.T @ weights)[0]
    else:
        directions = np.linalg.eigh(sample.T @ sample)[1][:, -BOUNDARY_COLUMNS:]
    kept: Floats = rows @ directions
    return kept


def _log_likelihood(part: Floats, rows: Floats) -> Floats:
    """Compute the log-density of rows that are normal with mean 0.

    The covariance is computed from `part` and shrunk towards the identity.
    """
    n_columns = part.shape[1]
    covariance = part.T @ part / len(part)
    identity = np.eye(n_columns) * np.trace(covariance) / n_columns
    covariance = (1 - SHRINKAGE) * covariance + SHRINKAGE * identity
    root = np.linalg.cholesky(covariance)
    standardised = np.linalg.solve(root, rows.T)
    squared_lengths: Floats = np.square(standardised).sum(axis=0)
    log_volume = float(np.log(np.diag(root)).sum())
    return -squared_lengths / 2 - log_volume


def _of_parts(rows: Floats, parts: NDArray[np.str_]) -> _Split | None:
    """Compare known parts, and return a group of parts that no other part relates to.

    Parts that are too small, or that have halves which do not align, decide nothing and
    are skipped. The other parts form groups: first of parts that a chain of aligned
    parts links, then of groups that are related.
    """
    names, members = np.unique(parts, return_inverse=True)
    sizes = np.bincount(members)
    usable = [
        number
        for number in np.argsort(-sizes, kind="stable")
        if names[number] and sizes[number] >= MIN_PART
    ]
    usable = sorted(usable[:MAX_PARTS], key=lambda number: np.argmax(members == number))
    if len(usable) < 2:
        return None
    blocks: list[Indices] = []
    for number in usable:
        blocks += np.array_split(np.flatnonzero(members == number), PART_BLOCKS)
    table = BlockTable(rows, tuple(blocks))
    blocks_of = {
        number: PART_BLOCKS * place + np.arange(PART_BLOCKS)
        for place, number in enumerate(usable)
    }

    def align(first: list[int], second: list[int]) -> bool:
        return any(
            not _look_unrelated(table, blocks_of[number], blocks_of[other])
            for number in first
            for other in second
        )

    def are_related(first: list[int], second: list[int]) -> bool:
        return Relation.from_rows(
            rows[np.isin(members, first)], rows[np.isin(members, second)]
        ).exists

    deciding = [[number] for number in usable if _decides(table, blocks_of[number])]
    groups = _linked(_linked(deciding, align), are_related)
    if len(groups) < 2:
        return None
    groups.sort(key=lambda group: int(sizes[group].sum()), reverse=True)
    group = groups[0]
    others = [number for other_group in groups[1:] for number in other_group]
    first = np.concatenate([blocks_of[number] for number in group])
    second = np.concatenate([blocks_of[number] for number in others])
    if not _look_unrelated(table, first, second):
        return None
    relation = Relation.from_rows(
        rows[np.isin(members, group)], rows[np.isin(members, others)]
    )
    if relation.exists:
        return None
    first_names = listed([visible(str(names[number])) for number in group], NAMED)
    second_names = listed([visible(str(names[number])) for number in others], NAMED)
    return _Split(
        table,
        (first, second),
        (f"rows of {first_names}", f"of {second_names}"),
        relation,
    )


def _linked(
    groups: Sequence[list[int]], are_linked: Callable[[list[int], list[int]], bool]
) -> list[list[int]]:
    """Merge groups that are linked, also through a chain of other groups.

    Examples
    --------
    >>> def are_close(first, second):
    ...     return any(abs(x - y) == 1 for x in first for y in second)
    >>> _linked([[1], [3], [9], [2]], are_close)
    [[9], [1, 3, 2]]
    """
    merged_groups: list[list[int]] = []
    for group in groups:
        linked = [other for other in merged_groups if are_linked(group, other)]
        merged = [number for other in linked for number in other] + group
        merged_groups = [other for other in merged_groups if other not in linked]
        merged_groups.append(merged)
    return merged_groups
