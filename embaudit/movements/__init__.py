"""How far cosines moved between two models, and which neighbours stayed."""

from embaudit.movements.movement import Movement, MovementProbe, movement

__all__ = ["Movement", "MovementProbe", "movement"]
