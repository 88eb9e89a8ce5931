"""safetensors: heads and tables out of large checkpoints, one tensor at a time, bfloat16 included.

Only the header is read to find a tensor; float32 and float64 stay on disk, float16 and bfloat16 become float32.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import IO

from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.codecs import safetensors
from embaudit.io.codecs.arrays import Stream
from embaudit.io.codecs.safetensors import Safetensors, recognises
from embaudit.io.intake import Contents, Source
from embaudit.io.json_text import parsed
from embaudit.io.layouts.checkpoints.config import config_of
from embaudit.io.layouts.checkpoints.named_rows import named_by
from embaudit.io.layouts.checkpoints.tokens import classes_of, is_classifier, tokens_of
from embaudit.io.layouts.reading import Layout, contents_of_layout, planned
from embaudit.io.request import Request
from embaudit.io.saving import Draft, fields_in

NAMES = "embaudit_names"
"""Under which name the header of a file holds the titles of its rows, as a JSON list.
"""
MODEL2VEC = "model2vec"
"""The `model_type` whose matrices of int8 have one scale for all numbers, which changes
no cosine.
"""
SHARD = re.compile(r"-\d{5}-of-(\d{5})\.safetensors$")
"""Ending of the file name of one shard of a checkpoint."""
__all__ = ["contents", "keeps", "recognises", "write"]


def contents(path: Path, request: Request) -> Contents:
    """Determine a head, two factor matrices or one table of vectors, and what lies beside them.

    Raises
    ------
    InputError
        If a file is damaged, or the tensors' names leave more than one reading.
    """
    checkpoint = _opened(path, request)
    config = config_of(checkpoint.path.parent)
    layout = planned(checkpoint, request, path, config)
    contents = contents_of_layout(checkpoint, layout, request, path, config)
    stored = fields_in(
        {name: str(text) for name, text in checkpoint.metadata.items()}, request.kind
    )
    fields = {
        **contents.fields,
        **{field: Source.of("the metadata", value) for field, value in stored.items()},
    }
    # One row of a binary head stands for two labels.
    n_rows = max(layout.n_rows(checkpoint.tensors), 1 + layout.head)
    names = {} if "right_names" in fields else _names(checkpoint, layout, n_rows)
    return replace(contents, fields={**fields, **names})


def _names(checkpoint: Safetensors, layout: Layout, n_rows: int) -> dict[str, Source]:
    """Call rows what the file itself calls them, those of a head what a vocabulary or configuration beside it does."""
    try:
        titles = parsed(str(checkpoint.metadata.get(NAMES, "null")).encode())
    except ValueError:
        titles = None
    if isinstance(titles, list) and len(titles) == n_rows:
        return {"right_names": Source.of("the metadata", list(map(str, titles)))}
    if not layout.head:
        return {}
    folder = checkpoint.path.parent
    config = config_of(folder)
    if is_classifier(layout.right, config.architectures):
        return named_by(classes_of(config.values, n_rows, "id2label of config.json"))
    return named_by(tokens_of(folder, n_rows))


def _opened(path: Path, request: Request) -> Safetensors:
    """Open a checkpoint; one part of many is no model unless the caller names what is wanted of it."""
    shard = SHARD.search(path.name)
    if shard and int(shard[1]) > 1 and request.weight is None:
        remedy = Sentence(
            "give its folder or its .safetensors.index.json, or name an array of this "
            "part with {}",
            Option("weight"),
        )
        raise must_be(
            File(path), "a whole checkpoint", f"one part of {int(shard[1])}", remedy
        )
    checkpoint = Safetensors(path)
    if config_of(checkpoint.path.parent).model_type == MODEL2VEC:
        whole = {name: x for name, x in checkpoint.tensors.items() if x.dtype == "int8"}
        checkpoint.tensors |= {
            name: replace(x, dtype="float32", rounded="I8") for name, x in whole.items()
        }
    return checkpoint


def keeps(draft: Draft) -> frozenset[str]:
    """Link, objective, counts and titles, a head's bias, and ids that are integers of 64 bits with a sign."""
    ids = draft.fields.get("right_ids")
    integers = (
        {"right_ids"}
        if ids is not None and ids.dtype.kind in "iu" and ids.max() < 2**63
        else set()
    )
    bias = {"right_bias"} if draft.link.name == "softmax" else set()
    return frozenset(
        {"link", "objective", "right_counts", "right_names", *integers, *bias}
    )


def write(file: IO[bytes], draft: Draft) -> None:
    """Write a head as weight and bias, other vectors as one table, under names that the reader knows."""
    name = "lm_head" if draft.link.name == "softmax" else "item_factors"
    tensors = {f"{name}.weight": draft.right}
    beside = (
        ("right_bias", f"{name}.bias"),
        ("right_ids", "item_ids"),
        ("right_counts", "item_counts"),
    )
    for field, tensor in beside:
        array = draft.fields.get(field)
        if array is not None:
            tensors[tensor] = Stream.of(
                array.astype("<i8") if field == "right_ids" else array
            )
    names = draft.fields.get("right_names")
    titles = {} if names is None else {NAMES: json.dumps([str(name) for name in names])}
    safetensors.write(file, tensors, {**draft.metadata, **titles})
