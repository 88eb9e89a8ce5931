"""Movement of cosines between two models, kept neighbours, and twins among rows."""

from embaudit.movements.levels import Levels, levels
from embaudit.movements.movement import Movement, MovementProbe, movement
from embaudit.movements.twins import Twins, twins

__all__ = [
    "Levels",
    "Movement",
    "MovementProbe",
    "Twins",
    "levels",
    "movement",
    "twins",
]
