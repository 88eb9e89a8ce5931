"""GGUF: the head of a language model as llama.cpp has it, its tokens, and the soft cap of its logits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.checkpoints.tokens import named_rows
from embaudit.io.codecs.gguf import TOKENS, Gguf
from embaudit.io.intake import Intake, Part
from embaudit.io.readers.assemble import assemble, looked, planned
from embaudit.io.request import Request
from embaudit.model import FactorModel, Softmax

EMBEDDING, HEAD = "token_embd.weight", "output.weight"
CAPS = {"gemma2": 30.0}
"""Where llama.cpp caps logits although a file says nothing of it."""


def read(path: Path, request: Request) -> FactorModel:
    """Read the head, or the matrix that was named.

    Raises
    ------
    InputError
        If the file is damaged, one part of many, or holds no head.
    """
    file = _opened(path, request)
    model = assemble(file, request, path)
    names = _names(file, request, path)
    model = model if names is None else model.replace(right_names=names)
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
    names = _names(file, request, path)
    return found if names is None else found.beside(Part(TOKENS, "right_names", names.shape))


def soft_cap(metadata: Mapping[str, Any]) -> float | None:
    """Return the c of logits `c tanh(s/c)`; None without one.

    Examples
    --------
    >>> soft_cap({"general.architecture": "gemma2"}), soft_cap({"general.architecture": "llama"})
    (30.0, None)
    """
    architecture = metadata.get("general.architecture")
    return metadata.get(f"{architecture}.final_logit_softcapping", CAPS.get(str(architecture))) or None


def _names(file: Gguf, request: Request, path: Path) -> NDArray[Any] | None:
    """Name the rows that are read, where they are those of tokens."""
    chosen = planned(file, request, path).right
    of_tokens = chosen in (EMBEDDING, HEAD)
    return named_rows(file.metadata.get(TOKENS), file.tensors[chosen].shape[0]) if of_tokens else None


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
