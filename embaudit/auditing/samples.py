"""Names of the lists and pairs that a figure was measured on, with their numbers."""

from __future__ import annotations

from embaudit.core.words import drawn_of
from embaudit.model import FactorModel, Pairs
from embaudit.movements import Movement


def lists_of(model: FactorModel, movement: Movement) -> str:
    """Name the neighbour lists that were compared.

    Rows without direction have no list, and of duplicates one row has a list.

    Examples
    --------
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 1]])
    >>> lists_of(model, movement(model, model, role="right", n_neighbours=1))
    'lists of all 4 items'
    """
    n_rows = len(model.side(model.side_name(movement.role)).directed)
    return f"lists of {drawn_of(movement.n_lists, n_rows, model.title(movement.role))}"


def pairs_of(model: FactorModel, movement: Movement) -> str:
    """Name the compared pairs.

    Examples
    --------
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> pairs_of(model, movement(model, model, role="right"))
    'all 3 item-item pairs'
    """
    noun = f"{Pairs(movement.role).titled(model)} pair"
    return drawn_of(movement.n_pairs, movement.n_all_pairs, noun)
