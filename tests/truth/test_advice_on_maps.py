"""Can old vectors be mapped into the space of a new encoder? Cases with known answers.

"A rotation is enough" and "a linear map is enough" must be true whenever they are said.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from embaudit.core.checked import Floats
from embaudit.model import FactorModel
from embaudit.serving.space_map import Advice, space_map

N, K = 800, 16
Pair = tuple[Floats, Floats]


def topics(draw: np.random.Generator) -> Floats:
    """Rows around forty centres."""
    centres = 2 * draw.standard_normal((40, K))
    return centres[draw.integers(40, size=N)] + draw.standard_normal((N, K))


def turn(draw: np.random.Generator, k: int = K) -> Floats:
    return np.linalg.qr(draw.standard_normal((k, k)))[0]


def rotated(draw: np.random.Generator) -> Pair:
    rows = topics(draw)
    return rows, rows @ turn(draw)


def rotated_and_rescaled(draw: np.random.Generator) -> Pair:
    rows, new = rotated(draw)
    return rows, new * np.exp(draw.standard_normal((N, 1)))


def rotated_into_more_columns(draw: np.random.Generator) -> Pair:
    rows = topics(draw)
    return rows, rows @ turn(draw, K + 8)[:K]


def with_empty_columns(draw: np.random.Generator) -> Pair:
    rows = topics(draw)
    rows[:, 10:] = 0
    return rows, rows @ turn(draw)


def stretched(draw: np.random.Generator) -> Pair:
    rows = topics(draw)
    return rows, rows @ turn(draw) * np.geomspace(1, 8, K)


def noisy(draw: np.random.Generator) -> Pair:
    rows = topics(draw)
    return rows, rows @ turn(draw) + 0.12 * draw.standard_normal((N, K))


def unrelated(draw: np.random.Generator) -> Pair:
    return topics(draw), topics(draw)


def shuffled(draw: np.random.Generator) -> Pair:
    rows = topics(draw)
    return rows, rows[draw.permutation(N)] @ turn(draw)


def duplicates(draw: np.random.Generator) -> Pair:
    """Unrelated encoders of twelve texts, each of which occurs 60 times."""
    old, new = draw.standard_normal((2, 12, K))
    copies = np.repeat(np.arange(12), 60)
    noise = 0.01 * draw.standard_normal((2, len(copies), K))
    return old[copies] + noise[0], new[copies] + noise[1]


def templates(draw: np.random.Generator) -> Pair:
    """Unrelated encoders of texts of forty templates, twenty texts each."""
    centres = 6 * draw.standard_normal((2, 40, 60))
    of_text = np.repeat(np.arange(40), 20)
    own = draw.standard_normal((2, len(of_text), 60))
    return centres[0][of_text] + own[0], centres[1][of_text] + own[1]


def folded(draw: np.random.Generator) -> Pair:
    """The new encoder drops all signs, which no linear map does."""
    rows = draw.standard_normal((N, K))
    return rows, np.abs(rows) @ turn(draw)


def fewer_rows_than_columns(draw: np.random.Generator) -> Pair:
    old, new = draw.standard_normal((2, 150, 200))
    return old, new


def collapsed(draw: np.random.Generator) -> Pair:
    """The old encoder keeps two directions of sixteen."""
    rows = draw.standard_normal((N, K))
    old = rows.copy()
    old[:, 2:] *= 1e-9
    return old + 1e-6 * draw.standard_normal((N, K)), rows @ turn(draw)


ENOUGH = (Advice.ROTATION, Advice.LINEAR)
CASES: dict[str, tuple[Callable[[np.random.Generator], Pair], tuple[Advice, ...]]] = {
    "a rotation": (rotated, (Advice.ROTATION,)),
    "a rotation with other lengths": (rotated_and_rescaled, (Advice.ROTATION,)),
    "a rotation into more columns": (rotated_into_more_columns, (Advice.ROTATION,)),
    "empty columns": (with_empty_columns, (Advice.ROTATION,)),
    "stretched axes": (stretched, (Advice.LINEAR,)),
    "a rotation with noise": (noisy, (Advice.LOSSY,)),
    "unrelated encoders": (unrelated, (Advice.EMBED_AGAIN,)),
    "rows of other documents": (shuffled, (Advice.EMBED_AGAIN,)),
    "near-duplicates": (duplicates, (Advice.EMBED_AGAIN, Advice.TOO_FEW)),
    "templates": (templates, (Advice.EMBED_AGAIN,)),
    "a map that is not linear": (folded, (Advice.EMBED_AGAIN,)),
    "fewer rows than columns": (fewer_rows_than_columns, (Advice.EMBED_AGAIN,)),
    "an old encoder that collapsed": (collapsed, (Advice.EMBED_AGAIN,)),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_advice_is_true(name: str, seed: int) -> None:
    make, expected = CASES[name]
    old, new = make(np.random.default_rng(seed))
    found = space_map({"vectors": old}, {"vectors": new}, rng=seed)
    assert found.advice in expected, found.conclusion
    says_enough = "is enough: it keeps" in found.conclusion
    assert says_enough == (found.advice in ENOUGH)


@pytest.mark.parametrize("compared", ["cosine", "dot", "distance"])
def test_advice_is_true_by_each_measure(compared: str) -> None:
    for make, advice in ((rotated, Advice.ROTATION), (unrelated, Advice.EMBED_AGAIN)):
        old, new = make(np.random.default_rng(0))
        models = [
            FactorModel.from_vectors(rows, compared=compared) for rows in (old, new)
        ]
        assert space_map(*models).advice is advice
