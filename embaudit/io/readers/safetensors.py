"""safetensors: heads and tables out of large checkpoints, one tensor at a time, bfloat16 included.

Only the header is read to find a tensor; float32 and float64 stay on disk, float16 and bfloat16 become float32.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from embaudit.errors import must_be
from embaudit.io.checkpoints.tokens import called, tokens_of
from embaudit.io.codecs import safetensors
from embaudit.io.codecs.arrays import Stream
from embaudit.io.codecs.safetensors import Safetensors, recognises
from embaudit.io.draft import Draft, said
from embaudit.io.intake import Intake, Part
from embaudit.io.json_text import parsed
from embaudit.io.readers.assemble import assemble, looked, planned
from embaudit.io.readers.layout import is_tied
from embaudit.io.request import Request
from embaudit.model import FactorModel, Softmax

NAMES = "embaudit_names"
"""Under which name the header of a file holds the titles of its rows, as a JSON list."""
CAP = "final_logit_softcapping"
"""What the configuration of a network calls the c of logits `c tanh(s/c)`."""
TIE = "tie_word_embeddings"
SHARD = re.compile(r"-\d{5}-of-(\d{5})\.safetensors$")
"""What the name of one part of a checkpoint ends in."""
__all__ = ["keeps", "read", "recognises", "write"]


def read(path: Path, request: Request) -> FactorModel:
    """Read a head, two factor matrices or one table of vectors.

    Raises
    ------
    InputError
        If a file is damaged, or the tensors' names leave more than one reading.
    """
    checkpoint = _opened(path, request)
    _require_head(checkpoint, request, path)
    model = assemble(checkpoint, request, path)
    model = _named(model, checkpoint)
    stored = said({name: str(text) for name, text in checkpoint.metadata.items()}, request.kind)
    if stored:
        return model.replace(**stored)
    cap = soft_cap(_config(checkpoint.path.parent))
    return model.replace(link=Softmax(soft_cap=cap)) if cap and model.link == "softmax" else model


def _named(model: FactorModel, checkpoint: Safetensors) -> FactorModel:
    """Call rows what the file itself calls them, labels of a head what a tokenizer beside it does."""
    if model.right_names is not None:
        return model
    try:
        names = parsed(str(checkpoint.metadata.get(NAMES, "null")).encode())
    except ValueError:
        names = None
    if isinstance(names, list) and len(names) == model.n_right:
        return model.replace(right_names=[str(name) for name in names])
    return called(model, tokens_of(checkpoint.path.parent, model.n_right)) if model.link == "softmax" else model


def soft_cap(config: Mapping[str, Any]) -> float | None:
    """Return the c of logits `c tanh(s/c)` that the configuration of a network says, None without one.

    Examples
    --------
    >>> soft_cap({"text_config": {"final_logit_softcapping": 30.0}}), soft_cap({"text_config": None})
    (30.0, None)
    """
    text = config.get("text_config")
    return config.get(CAP) or (text.get(CAP) if isinstance(text, Mapping) else None)


def look(path: Path, request: Request) -> Intake:
    """Say which tensors become what, from headers alone.

    Raises
    ------
    InputError
        As `read` does.
    """
    checkpoint = _opened(path, request)
    _require_head(checkpoint, request, path)
    found = looked(checkpoint, request, path, "safetensors")
    stored = said({name: str(text) for name, text in checkpoint.metadata.items()}, request.kind)
    return found.beside(*(Part("the metadata", field) for field in stored))


def _opened(path: Path, request: Request) -> Safetensors:
    """Open a checkpoint; one part of many is no model unless the caller names what is wanted of it."""
    part = SHARD.search(path.name)
    if part and int(part[1]) > 1 and request.weight is None and request.left is None:
        remedy = "give its folder or its .safetensors.index.json, or name an array of this part with weight (--weight)"
        raise must_be(f"{path}", "a whole checkpoint", f"one part of {int(part[1])}", remedy)
    return Safetensors(path)


def _require_head(checkpoint: Safetensors, request: Request, path: Path) -> None:
    """Refuse input embeddings in place of a head that the configuration calls a matrix of its own."""
    config = _config(checkpoint.path.parent)
    text = config.get("text_config")
    said = [one.get(TIE) for one in (config, text if isinstance(text, dict) else {})]
    chosen = planned(checkpoint, request, path)
    if False in said and True not in said and chosen.head and request.weight is None and is_tied(chosen.right):
        remedy = f"fetch the rest of the checkpoint, or name them with weight (--weight {chosen.right})"
        raise must_be(f"the head of {path}", f"there, for {TIE} is false", f"only {chosen.right}", remedy)


def _config(folder: Path) -> dict[str, Any]:
    """Read what `config.json` beside a checkpoint says, if there is one."""
    try:
        content = parsed((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def keeps(draft: Draft) -> frozenset[str]:
    """Link, objective, counts and titles, a head's bias, and ids that are integers."""
    ids = draft.fields.get("right_ids")
    integers = {"right_ids"} if ids is not None and ids.dtype.kind in "iu" else set()
    bias = {"right_bias"} if draft.link == "softmax" else set()
    return frozenset({"link", "objective", "right_counts", "right_names", *integers, *bias})


def write(file: IO[bytes], draft: Draft) -> None:
    """Write a head as weight and bias, other vectors as one table, under names that the reader knows."""
    name = "lm_head" if draft.link == "softmax" else "item_factors"
    tensors = {f"{name}.weight": draft.right}
    beside = (("right_bias", f"{name}.bias"), ("right_ids", "item_ids"), ("right_counts", "item_counts"))
    for field, tensor in beside:
        array = draft.fields.get(field)
        if array is not None:
            tensors[tensor] = Stream.of(array.astype("<i8") if field == "right_ids" else array)
    names = draft.fields.get("right_names")
    titles = {} if names is None else {NAMES: json.dumps([str(name) for name in names])}
    safetensors.write(file, tensors, {**draft.metadata, **titles})
