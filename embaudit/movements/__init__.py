"""How far cosines moved between two models, and which neighbours stayed."""

from embaudit.movements.moved import Movement
from embaudit.movements.movement import MovementProbe, movement

__all__ = ["Movement", "MovementProbe", "movement"]
