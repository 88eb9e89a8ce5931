"""Tied embeddings: a head that is also the table of the input embeddings of its network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from embaudit.core.checked import require_one_of
from embaudit.errors import must_be
from embaudit.model.links import Link, Softmax

Status = Literal["tied", "unknown", "contradicted"]


@dataclass(frozen=True)
class Tying:
    """What is known about a softmax head and the input embeddings of its network; an untied head has none.

    A gauge of the head keeps the predictions only if the inputs stay. If the head is also
    the input embeddings, an equivalent network needs an untied copy of the head.

    Examples
    --------
    >>> print(Tying("tied", "wte.weight", "the checkpoint holds no other head"))
    The head is also the input embeddings (the checkpoint holds no other head).
    """

    status: Status
    """Whether both are one table, nothing says it, or a configuration ties two tables whose values differ."""
    embedding: str = ""
    """Name of the input embeddings; empty if they are not in the checkpoint."""
    because: str = ""
    """What says that both are one table."""

    def __post_init__(self) -> None:
        """Refuse other statuses."""
        require_one_of(self.status, "the status of a tied head", get_args(Status))

    @property
    def warning(self) -> str:
        """What to know before an equivalent head is put into the network; empty if it is not known to be tied."""
        if self.status != "tied":
            return ""
        return (
            "The head is also the input embeddings: put these rows into an untied copy "
            "of the head, or they change the inputs, too."
        )

    def __str__(self) -> str:
        if self.status == "tied":
            return f"The head is also the input embeddings ({self.because})."
        if self.status == "unknown":
            return (
                "config.json does not say if the head is also the input embeddings "
                "(tie_word_embeddings), which the checkpoint does not hold."
            )
        return (
            "config.json ties the head to the input embeddings, but their values "
            f"differ from those of {self.embedding}."
        )


def require_head(tying: Tying, link: Link) -> None:
    """Refuse what says nothing of tying, and a model that is no softmax head."""
    if not isinstance(tying, Tying):
        raise must_be("tying", "a Tying", repr(tying))
    if not isinstance(link, Softmax):
        raise must_be("tying", "left out unless the link is softmax", f"{link} link")
