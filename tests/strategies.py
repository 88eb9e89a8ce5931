"""Hypothesis strategies for models, gauges and gauge groups."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embaudit.core.checked import Matrix
from embaudit.gauges import (
    Affine,
    Diagonal,
    Gauge,
    GaugeGroup,
    GeneralLinear,
    Orthogonal,
    Translation,
)
from embaudit.model import LINK_NAMES, LINKS, FactorModel, Link, softmax_link

_ENTRIES = st.floats(-4, 4, width=16, allow_subnormal=False)
_SCALES = {np.float16: (0, -4, 4), np.float32: (0, -40, 40), np.float64: (0, -300, 300)}
"""Powers of two that keep every product of two factors within the range of the numbers.
"""
ALL_LINKS: tuple[Link, ...] = (
    *(LINKS[name] for name in LINK_NAMES),
    softmax_link(soft_cap=3.0),
    softmax_link(unit_rows=True),
)
"""Links, each with and without parameters."""


def ranks() -> st.SearchStrategy[int]:
    """Numbers of latent dimensions, 1 included."""
    return st.integers(1, 5)


def seeds() -> st.SearchStrategy[int]:
    """Seeds of a random generator."""
    return st.integers(0, 2**32 - 1)


@st.composite
def factor_matrices(draw: st.DrawFn, n_rows: int, rank: int) -> Matrix:
    """Draw factors of any precision, memory order and scale.

    Some have parallel rows or a zero row.
    """
    # Entries of 16 bits are exact in every precision; scales and orders are drawn
    # apart, so that failures shrink well.
    x = draw(arrays(np.float64, (n_rows, rank), elements=_ENTRIES))
    if n_rows > 1 and draw(st.booleans()):
        x[1] = draw(st.sampled_from([-2.0, 0.5, 1.0])) * x[0]
    if draw(st.booleans()):
        x[-1] = 0
    dtype = draw(st.sampled_from(list(_SCALES)))
    scale = 2.0 ** draw(st.sampled_from(_SCALES[dtype]))
    return np.asarray(x * scale, dtype=dtype, order=draw(st.sampled_from("CF")))


@st.composite
def factor_models(
    draw: st.DrawFn,
    rank: int | None = None,
    *,
    links: st.SearchStrategy[Link] = st.sampled_from(ALL_LINKS),  # noqa: B008  (strategies are values)
    biased: st.SearchStrategy[bool] = st.booleans(),  # noqa: B008
) -> FactorModel:
    """Draw a model with both sides: every link, precision and combination of biases.

    Parameters
    ----------
    rank : int, optional
        Number of latent dimensions; drawn by default.
    links : strategy of Link
        The links to draw from.
    biased : strategy of bool
        Whether a side has a bias, drawn once per side.
    """
    k = draw(ranks()) if rank is None else rank
    n, p = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    biases = [
        draw(arrays(np.float64, size, elements=_ENTRIES)) if draw(biased) else None
        for size in (n, p)
    ]
    return FactorModel.from_arrays(
        left=draw(factor_matrices(n, k)),
        right=draw(factor_matrices(p, k)),
        link=draw(links),
        left_bias=biases[0],
        right_bias=biases[1],
        offset=draw(_ENTRIES),
    )


def one_sided_models(rank: int | None = None) -> st.SearchStrategy[FactorModel]:
    """Draw a model without its left side."""
    return factor_models(rank).map(
        lambda model: model.replace(left=None, left_bias=None)
    )


def gauge_groups(rank: int) -> st.SearchStrategy[GaugeGroup]:
    """Draw any of the gauge groups of this package, whole or within a budget."""
    conditions = st.none() | st.sampled_from([1.0, 1.5, 10.0])
    shifts = st.none() | st.sampled_from([0.5, 3.0])
    sides = st.sampled_from(["left", "right"])
    return st.one_of(
        st.builds(Diagonal, st.just(rank), max_condition=conditions),
        st.builds(GeneralLinear, st.just(rank), max_condition=conditions),
        st.just(Orthogonal(rank)),
        st.builds(Translation, st.just(rank), side=sides, max_shift=shifts),
        st.builds(
            Affine,
            st.just(rank),
            side=sides,
            max_condition=conditions,
            max_shift=shifts,
        ),
    )


def gauges(rank: int) -> st.SearchStrategy[Gauge]:
    """Draw a gauge of any group, or the composition of two such gauges."""
    # Compositions leave every single group: a shift of either side after a linear map.
    single = st.builds(
        lambda group, seed: group.sample(rng=seed), gauge_groups(rank), seeds()
    )
    return single | st.builds(lambda g, h: g @ h, single, single)
