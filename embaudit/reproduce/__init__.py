"""The papers' figures: tables of numbers, and pictures of them."""

from embaudit.reproduce.netflix import NetflixFigure, netflix
from embaudit.reproduce.netflix_setting import NetflixSetting
from embaudit.reproduce.nielsen import NielsenFigure, nielsen
from embaudit.reproduce.simpson import SimpsonFigure, simpson

__all__ = [
    "NetflixFigure",
    "NetflixSetting",
    "NielsenFigure",
    "SimpsonFigure",
    "netflix",
    "nielsen",
    "simpson",
]
