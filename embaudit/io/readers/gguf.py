"""GGUF: the head of a language model as llama.cpp has it, its tokens, and the soft cap of its logits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.codecs.gguf import TOKENS, TYPES, Gguf
from embaudit.io.intake import Contents
from embaudit.io.layouts.checkpoints.config import OF_GGUF, config_of_gguf
from embaudit.io.layouts.checkpoints.named_rows import named_by
from embaudit.io.layouts.checkpoints.tokens import Tokens
from embaudit.io.layouts.reading import contents_of
from embaudit.io.request import Request

EMBEDDING, HEAD = "token_embd.weight", "output.weight"
NO_TEXT = (2, 3, 5)
"""Kinds of tokens that stand for no text: unknown, control, unused (`TokenType` of the
package `gguf`).
"""


def contents(path: Path, request: Request) -> Contents:
    """Determine the head, or the matrix that was named, its tokens and the soft cap.

    Raises
    ------
    InputError
        If the file is damaged, one part of many, or holds no head.
    """
    file = Gguf(path)
    parts = file.metadata.get("split.count")
    if isinstance(parts, int) and parts > 1 and request.weight is None:
        remedy = Sentence(
            "merge them with `llama-gguf-split --merge`, or name a tensor of this part "
            "with {}",
            Option("weight"),
        )
        raise must_be(File(path), "a whole model", f"one part of {parts}", remedy)
    config = config_of_gguf(file.metadata, shifted=f"{OF_GGUF}.bias" in file.tensors)
    base = contents_of(file, request, path, config)
    name, tokens = base.fields["right"].name, None
    # Rows of other matrices are none of tokens.
    if name in (EMBEDDING, HEAD):
        special = {
            row
            for row, kind in enumerate(file.metadata.get(TYPES) or ())
            if kind in NO_TEXT
        }
        stored = dict(enumerate(file.metadata.get(TOKENS) or ()))
        tokens = Tokens.of(stored, file.tensors[name].shape[0], TOKENS, special)
    return replace(base, fields={**base.fields, **named_by(tokens)})
