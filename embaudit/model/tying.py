"""Tied embeddings: a head that is also the table of input embeddings of its network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from embaudit.core.checked import require_one_of
from embaudit.errors import must_be
from embaudit.model.links import Link

Status = Literal["tied", "unknown", "contradicted"]


@dataclass(frozen=True)
class Tying:
    """Whether a softmax head is also the input embeddings of its network.

    A model whose head is a table of its own has no `Tying`.

    A gauge of the head keeps the predictions only if the inputs stay. If the head is
    also the input embeddings, an equivalent network needs a separate table for the
    head.

    Examples
    --------
    >>> print(Tying("tied", "wte.weight", "the checkpoint holds no other head"))
    The head is also the input embeddings (the checkpoint holds no other head).
    """

    status: Status
    """"tied": both are one table. "unknown": the files do not say. "contradicted":
    config.json ties two tables whose values differ."""
    embedding: str = ""
    """Name of the input embeddings; empty if they are not in the checkpoint."""
    because: str = ""
    """Source that says that both are one table."""

    def __post_init__(self) -> None:
        """Raise InputError for an unknown status."""
        require_one_of(self.status, "the status of a tied head", get_args(Status))

    @property
    def warning(self) -> str:
        """Advice on putting an equivalent head into the network; empty unless tied."""
        if self.status != "tied":
            return ""
        return (
            "The head is also the input embeddings: store these rows as a separate "
            "head, because in the shared table they would change the inputs, too."
        )

    def __str__(self) -> str:
        if self.status == "tied":
            return f"The head is also the input embeddings ({self.because})."
        if self.status == "unknown":
            return (
                "config.json does not say if the head is also the input embeddings "
                "(key tie_word_embeddings), and the checkpoint holds no separate "
                "input embeddings."
            )
        return (
            "config.json ties the head to the input embeddings, but their values "
            f"differ from those of {self.embedding}."
        )


def require_head(tying: Tying, link: Link) -> None:
    """Raise InputError unless `tying` is a Tying and the link is a softmax."""
    if not isinstance(tying, Tying):
        raise must_be("tying", "a Tying", repr(tying))
    if link.name != "softmax":
        raise must_be(
            "tying", "omitted unless the link is softmax", f"{link.name} link"
        )
