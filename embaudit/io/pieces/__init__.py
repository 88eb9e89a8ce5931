"""Finished pieces of work on disk: a codec for results, and the folder they lie in."""

from embaudit.io.pieces.codec import UnknownError, told_apart
from embaudit.io.pieces.folder import pieces_of, resume_in

__all__ = ["UnknownError", "pieces_of", "resume_in", "told_apart"]
