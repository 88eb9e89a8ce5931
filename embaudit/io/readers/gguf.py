"""GGUF: the head of a language model as llama.cpp has it, its tokens, and the soft cap of its logits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from embaudit.errors import must_be
from embaudit.io.checkpoints.config import OF_GGUF, config_of_gguf
from embaudit.io.checkpoints.final_norm import with_norm
from embaudit.io.checkpoints.tokens import Tokens
from embaudit.io.codecs.gguf import TOKENS, TYPES, Gguf
from embaudit.io.intake import Contents, Source
from embaudit.io.readers.assemble import contents_of, named_by
from embaudit.io.request import Request
from embaudit.model import Softmax

EMBEDDING, HEAD = "token_embd.weight", "output.weight"
ENCODERS = ("t5encoder", "bert", "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "clip",
            "eurobert", "gemma-embedding")  # fmt: skip
"""Architectures of llama.cpp that predict no tokens."""
NO_TEXT = (2, 3, 5)
"""Kinds of tokens that stand for no text: unknown, control, unused (`TokenType` of the package `gguf`)."""


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
        remedy = "merge them with `llama-gguf-split --merge`, or name a tensor of this part with --weight"
        raise must_be(f"{path}", "a whole model", f"one part of {parts}", remedy)
    _require_head(file, request)
    base = contents_of(file, request, path)
    name, tokens = base.fields["right"].name, None
    # Rows of other matrices are none of tokens.
    if name in (EMBEDDING, HEAD):
        special = {row for row, kind in enumerate(file.metadata.get(TYPES) or ()) if kind in NO_TEXT}
        stored = dict(enumerate(file.metadata.get(TOKENS) or ()))
        tokens = Tokens.of(stored, file.tensors[name].shape[0], TOKENS, special)
    config = config_of_gguf(file.metadata, shifted=f"{OF_GGUF}.bias" in file.tensors)
    cap = config.soft_cap if "link" in base.fields else None
    link = {"link": Source.of("its name", Softmax(soft_cap=cap))} if cap else {}
    contents = replace(base, fields={**base.fields, **link, **named_by(tokens)})
    return with_norm(contents, file, config, request, path)


def _require_head(file: Gguf, request: Request) -> None:
    """Refuse the input embeddings of a network that predicts no tokens: llama.cpp ties them only where it does."""
    if request.kind not in ("auto",) or request.weight is not None or HEAD in file.tensors:
        return
    architecture = file.metadata.get("general.architecture")
    # A pooling of states, or attention in both directions, makes vectors of texts and no next token.
    pooled = file.metadata.get(f"{architecture}.pooling_type")
    encodes = architecture in ENCODERS or file.metadata.get("general.type") == "adapter"
    if encodes or pooled or file.metadata.get(f"{architecture}.attention.causal") is False:
        remedy = f"read them with --kind=vectors and --weight={EMBEDDING}"
        what = f"only {EMBEDDING}, the input embeddings of an encoder"
        raise must_be(f"the head of {file.path}", "there", what, remedy)
