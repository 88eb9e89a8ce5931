"""Audit embedding similarity: how far can cosines move while every prediction stays the same?"""

import lazy_loader as lazy

# Names and their homes are listed in __init__.pyi; each is imported when first used.
__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
