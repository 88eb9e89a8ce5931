"""safetensors: heads and tables out of large checkpoints, one tensor at a time, bfloat16 included.

Only the header is read to find a tensor; float32 and float64 stay on disk, float16 and bfloat16 become float32.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from embaudit.errors import must_be, option
from embaudit.io.checkpoints.classes import classes_of, is_classifier, other_task, without_tokens
from embaudit.io.checkpoints.config import Config, config_of
from embaudit.io.checkpoints.tokens import Tokens, tokens_of, vocabulary_of
from embaudit.io.codecs import safetensors
from embaudit.io.codecs.arrays import Stream
from embaudit.io.codecs.safetensors import Safetensors, recognises
from embaudit.io.draft import Draft, said
from embaudit.io.intake import Contents, Source
from embaudit.io.json_text import parsed, parsed_file
from embaudit.io.readers.assemble import contents_of, named_by, planned, side_axis
from embaudit.io.readers.layout import Layout, is_tied
from embaudit.io.request import Request
from embaudit.model import Softmax

NAMES = "embaudit_names"
"""Under which name the header of a file holds the titles of its rows, as a JSON list."""
CAP = "final_logit_softcapping"
"""What the configuration of a network calls the c of logits `c tanh(s/c)`."""
TIE = "tie_word_embeddings"
MODEL2VEC = "model2vec"
"""The `model_type` whose matrices of int8 have one scale for all numbers, which changes no cosine."""
SHARD = re.compile(r"-\d{5}-of-(\d{5})\.safetensors$")
"""What the name of one part of a checkpoint ends in."""
__all__ = ["contents", "keeps", "recognises", "write"]


def contents(path: Path, request: Request) -> Contents:
    """Tell a head, two factor matrices or one table of vectors, and what lies beside them.

    Raises
    ------
    InputError
        If a file is damaged, or the tensors' names leave more than one reading.
    """
    checkpoint = _opened(path, request)
    chosen = _require_head(checkpoint, request, path)
    found = contents_of(checkpoint, request, path)
    stored = said({name: str(text) for name, text in checkpoint.metadata.items()}, request.kind)
    fields = {**found.fields, **{field: Source.of("the metadata", value) for field, value in stored.items()}}
    cap = soft_cap(_config(checkpoint.path.parent))
    if cap and chosen.head and not stored:
        fields["link"] = Source.of("its name", Softmax(soft_cap=cap))
    # One row of a binary head stands for two labels.
    n_rows = max(checkpoint.tensors[chosen.right].shape[side_axis(chosen)], 1 + chosen.head)
    names = {} if "right_names" in fields else _names(checkpoint, chosen, n_rows)
    return replace(found, fields={**fields, **names})


def _names(checkpoint: Safetensors, chosen: Layout, n_rows: int) -> dict[str, Source]:
    """Call rows what the file itself calls them, those of a head what a vocabulary or configuration beside it does."""
    titles = _titles(checkpoint, n_rows)
    if titles is not None:
        return {"right_names": Source.of("the metadata", titles)}
    beside = _beside(checkpoint, chosen.right, n_rows) if chosen.head else None
    return {} if beside is None else named_by(beside[1], beside[0])


def _titles(checkpoint: Safetensors, n_rows: int) -> list[str] | None:
    """Read the titles of rows that `write` puts into the header."""
    try:
        names = parsed(str(checkpoint.metadata.get(NAMES, "null")).encode())
    except ValueError:
        return None
    return [str(name) for name in names] if isinstance(names, list) and len(names) == n_rows else None


def _beside(checkpoint: Safetensors, head: str, n_rows: int) -> tuple[str, Tokens] | None:
    """Find what lies beside a checkpoint and tells what the rows of its head stand for: classes or tokens."""
    folder = checkpoint.path.parent
    config = config_of(folder)
    if is_classifier(head, config.architectures):
        source, found = "id2label of config.json", classes_of(config.values, n_rows)
    else:
        source, found = vocabulary_of(folder), tokens_of(folder, n_rows)
    return None if found is None else (source, found)


def soft_cap(config: Mapping[str, Any]) -> float | None:
    """Return the c of logits `c tanh(s/c)` that the configuration of a network says, None without one.

    Examples
    --------
    >>> soft_cap({"text_config": {"final_logit_softcapping": 30.0}}), soft_cap({"text_config": None})
    (30.0, None)
    """
    text = config.get("text_config")
    return config.get(CAP) or (text.get(CAP) if isinstance(text, Mapping) else None)


def _opened(path: Path, request: Request) -> Safetensors:
    """Open a checkpoint; one part of many is no model unless the caller names what is wanted of it."""
    part = SHARD.search(path.name)
    if part and int(part[1]) > 1 and request.weight is None and request.left is None:
        remedy = "give its folder or its .safetensors.index.json, or name an array of this part with --weight"
        raise must_be(f"{path}", "a whole checkpoint", f"one part of {int(part[1])}", remedy)
    checkpoint = Safetensors(path)
    if config_of(checkpoint.path.parent).model_type == MODEL2VEC:
        whole = {name: x for name, x in checkpoint.tensors.items() if x.dtype == "int8"}
        checkpoint.tensors |= {name: replace(x, dtype="float32", rounded="I8") for name, x in whole.items()}
    return checkpoint


def _require_head(checkpoint: Safetensors, request: Request, path: Path) -> Layout:
    """Refuse input embeddings in place of a head that the configuration calls a matrix of its own, or of no tokens."""
    config = _config(checkpoint.path.parent)
    text = config.get("text_config")
    said = [one.get(TIE) for one in (config, text if isinstance(text, dict) else {})]
    chosen = planned(checkpoint, request, path)
    if not (chosen.head and request.weight is None):
        return chosen
    if not is_tied(chosen.right):
        if request.kind != "head" and request.link is None:
            _require_softmax(config, chosen.right, path)
        return chosen
    named = f"name them with {option('weight', chosen.right)}"
    if False in said and True not in said:
        remedy = f"fetch the rest of the checkpoint, or {named}"
        raise must_be(f"the head of {path}", f"there, for {TIE} is false", f"only {chosen.right}", remedy)
    other = without_tokens(config_of(checkpoint.path.parent).architectures)
    if other is not None:
        remedy = f"name its head with --weight=NAME and --kind=head, or {named}"
        raise must_be(f"the head of {path}", f"there, for it is a {other}", f"only {chosen.right}", remedy)
    return chosen


def _require_softmax(config: Mapping[str, Any], head: str, path: Path) -> None:
    """Refuse a last layer that the configuration says predicts something else than one label of several."""
    other = other_task(config, Config(dict(config)).architectures)
    if "activation_function" in config and "in_features" in config:
        other = f"a Dense layer of sentence-transformers with {config['activation_function']}"
    if other is not None:
        remedy = f"say --kind=head if a softmax follows {head}, or --link=sigmoid for labels apart"
        raise must_be(f"the head of {path}", "a softmax over labels", other, remedy)


def _config(folder: Path) -> dict[str, Any]:
    """Read what `config.json` beside a checkpoint says, if there is one."""
    content = parsed_file(folder / "config.json")
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
