"""Checkpoints of llama2.c: the classifier as a head, and tokens from a `tokenizer.bin` beside it."""

from __future__ import annotations

from pathlib import Path

from embaudit.io.checkpoints.tokens import called, listed_tokens
from embaudit.io.codecs.llama2c import Llama2c, begins, tokens_of
from embaudit.io.intake import Intake, Part
from embaudit.io.readers.assemble import assemble, looked
from embaudit.io.request import Request
from embaudit.model import FactorModel

BESIDE = "tokenizer.bin"
"""The file of tokens that every checkpoint of llama2.c needs to run."""
SPECIAL = (0, 1, 2)
"""Its unknown token, the begin and the end of a text, as `tokenizer.py` and `run.c` have them."""


def recognises(path: Path) -> bool:
    """Whether its first bytes are a header of llama2.c; others of that suffix are word2vec's."""
    return begins(path)


def read(path: Path, request: Request) -> FactorModel:
    """Read the head, or the token embeddings.

    Raises
    ------
    InputError
        If the header says nothing that fits the size of the file.
    """
    model = assemble(Llama2c(path), request, path)
    return called(model, listed_tokens(tokens_of(path.parent / BESIDE), model.n_right, SPECIAL))


def look(path: Path, request: Request) -> Intake:
    """Say which array becomes what, from the header alone.

    Raises
    ------
    InputError
        As `read` does.
    """
    checkpoint = Llama2c(path)
    found = looked(checkpoint, request, path, "llama2c")
    tokens = path.parent / BESIDE
    named = listed_tokens(tokens_of(tokens), checkpoint.shape.vocab) is not None
    return found.beside(Part(str(tokens), "right_names")) if named else found
