"""GGUF: the head of a language model as llama.cpp has it, its tokens, and the soft cap of its logits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embaudit.errors import must_be
from embaudit.io.checkpoints.tokens import Tokens, called, listed_tokens
from embaudit.io.codecs.gguf import TOKENS, TYPES, Gguf
from embaudit.io.intake import Intake, Part
from embaudit.io.readers.assemble import assemble, looked, planned
from embaudit.io.request import Request
from embaudit.model import FactorModel, Softmax

EMBEDDING, HEAD = "token_embd.weight", "output.weight"
CAPS = {"gemma2": 30.0}
"""Where llama.cpp caps logits although a file says nothing of it."""
NO_TEXT = (2, 3, 5)
"""Kinds of tokens that stand for no text: unknown, control, unused (`TokenType` of the package `gguf`)."""


def read(path: Path, request: Request) -> FactorModel:
    """Read the head, or the matrix that was named.

    Raises
    ------
    InputError
        If the file is damaged, one part of many, or holds no head.
    """
    file = _opened(path, request)
    model = assemble(file, request, path)
    model = called(model, _tokens(file, request, path))
    cap = soft_cap(file.metadata)
    return model.replace(link=Softmax(soft_cap=cap)) if cap and model.link == "softmax" else model


def look(path: Path, request: Request) -> Intake:
    """Say which tensors become what, from the header alone.

    Raises
    ------
    InputError
        As `read` does.
    """
    file = _opened(path, request)
    found = looked(file, request, path, "gguf")
    tokens = _tokens(file, request, path)
    return found if tokens is None else found.beside(Part(TOKENS, "right_names", tokens.names.shape))


def soft_cap(metadata: Mapping[str, Any]) -> float | None:
    """Return the c of logits `c tanh(s/c)`; None without one.

    Examples
    --------
    >>> soft_cap({"general.architecture": "gemma2"}), soft_cap({"general.architecture": "llama"})
    (30.0, None)
    """
    architecture = metadata.get("general.architecture")
    return metadata.get(f"{architecture}.final_logit_softcapping", CAPS.get(str(architecture))) or None


def _tokens(file: Gguf, request: Request, path: Path) -> Tokens | None:
    """Name the rows that are read, where they are those of tokens."""
    chosen = planned(file, request, path).right
    if chosen not in (EMBEDDING, HEAD):
        return None
    special = {row for row, kind in enumerate(file.metadata.get(TYPES) or ()) if kind in NO_TEXT}
    return listed_tokens(file.metadata.get(TOKENS), file.tensors[chosen].shape[0], special)


def _opened(path: Path, request: Request) -> Gguf:
    file = Gguf(path)
    _require_whole(file, request)
    _require_head(file, request)
    return file


def _require_whole(file: Gguf, request: Request) -> None:
    """Refuse one part of many, unless the caller names what is wanted of it."""
    parts = file.metadata.get("split.count")
    if isinstance(parts, int) and parts > 1 and request.weight is None:
        remedy = "merge them with llama-gguf-split --merge, or name a tensor of this part with weight (--weight)"
        raise must_be(f"{file.path}", "a whole model", f"one part of {parts}", remedy)


def _require_head(file: Gguf, request: Request) -> None:
    """Refuse the input embeddings of a network that predicts no tokens: llama.cpp ties them only where it does."""
    if request.kind not in ("auto",) or request.weight is not None or HEAD in file.tensors:
        return
    architecture = file.metadata.get("general.architecture")
    pooled = file.metadata.get(f"{architecture}.pooling_type")
    if pooled or file.metadata.get(f"{architecture}.attention.causal") is False:
        remedy = f"read them with kind vectors (--kind vectors --weight {EMBEDDING})"
        what = f"only {EMBEDDING}, the input embeddings of an encoder"
        raise must_be(f"the head of {file.path}", "there", what, remedy)
