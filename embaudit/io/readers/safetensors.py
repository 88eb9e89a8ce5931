"""safetensors: heads and tables out of large checkpoints, one tensor at a time, bfloat16 included.

Only the header is read to find a tensor; float32 and float64 stay on disk, float16 and bfloat16 become float32.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from embaudit.io.codecs import safetensors
from embaudit.io.codecs.arrays import Stream
from embaudit.io.codecs.safetensors import Safetensors, recognises
from embaudit.io.readers.assemble import assemble
from embaudit.model import Link

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

    from numpy.typing import NDArray

    from embaudit.io.draft import Draft
    from embaudit.io.request import Request
    from embaudit.model import FactorModel

__all__ = ["keeps", "read", "recognises", "stored_rows", "write"]


def read(path: Path, request: Request) -> FactorModel:
    """Read a head, two factor matrices or one table of vectors.

    Raises
    ------
    InputError
        If a file is damaged, or the tensors' names leave more than one reading.
    """
    checkpoint = Safetensors(path)
    model = assemble(checkpoint, request, path)
    config = _config(checkpoint.path.parent)
    capped = config.get("final_logit_softcapping") or config.get("text_config", {}).get("final_logit_softcapping")
    # A cap on the logits makes the softmax notice a translation; only what keeps the scores keeps the probabilities.
    return model.replace(link=Link.IDENTITY) if capped and model.link is Link.SOFTMAX else model


def _config(folder: Path) -> dict[str, Any]:
    """Read what `config.json` beside a checkpoint says, if there is one."""
    try:
        content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def keeps(draft: Draft) -> frozenset[str]:
    """A head with its bias, and ids that are integers."""
    ids = draft.fields.get("right_ids")
    whole = {"right_ids"} if ids is not None and ids.dtype.kind in "iu" else set()
    return frozenset(whole | ({"link", "right_bias"} if draft.link is Link.SOFTMAX else set()))


def _named(draft: Draft) -> dict[str, Stream]:
    """Name the tensors as the reader knows them: a head's own, or a table of vectors."""
    name = "lm_head" if draft.link is Link.SOFTMAX else "item_factors"
    found = {f"{name}.weight": draft.right}
    for field, tensor in (("right_bias", f"{name}.bias"), ("right_ids", "item_ids")):
        array = draft.fields.get(field)
        if array is not None:
            found[tensor] = Stream.of(array.astype("<i8") if field == "right_ids" else array)
    return found


def write(file: IO[bytes], draft: Draft) -> None:
    """Write a head as weight and bias, other vectors as one table."""
    safetensors.write(file, _named(draft), {})


def stored_rows(path: Path, side: str, rows: slice) -> NDArray[Any]:  # noqa: ARG001
    """Read some rows, and not the others."""
    tensors = Safetensors(path)
    return next(tensors.place(name).rows(rows) for name in tensors.tensors if name.endswith(".weight"))
