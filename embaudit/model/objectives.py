"""Training objectives: the laws that say which gauges each leaves free, and the words that people say of training.

Predictions leave every gauge of their level free. A regulariser on the factors themselves may not: then the cosines are
unique given the predictions, but chosen by the regulariser (docs/theory.md, "What training fixes"). trainings.toml is
the table of both, to be read from top to bottom; the name of a law is a word, too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum, StrEnum
from importlib.resources import files
from typing import Any

from embaudit.errors import InputError, must_be
from embaudit.model.links import Comparison, Identity, Link
from embaudit.model.side import SideName


class Linear(IntEnum):
    """Kind of a linear change of the latent coordinates; each contains the ones before."""

    IDENTITY = 0
    """The identity: no coordinate changes."""
    ROTATION = 1
    """A rotation or a reflection: every length stays."""
    SIMILARITY = 2
    """A rotation with one scale for all directions: it keeps every cosine."""
    ANY = 3
    """Anything that can be undone."""


class Status(StrEnum):
    """Statement of a training objective about cosines."""

    FREE = "free"
    """Objective without a statement: equally good solutions have other cosines."""
    CHOSEN = "chosen by the regulariser"
    """One value, which another strength or kind of regularisation would change."""
    INPUTS = "tied to the inputs"
    """One value for these inputs, which rescaling the inputs would change."""
    TRAINED = "trained"
    """The cosine itself was trained."""
    TEMPERATURE = "trained up to a temperature"
    """Cosines between the sides were trained up to a factor, so that those within a side are open."""
    UNKNOWN = "undecided"
    """Nobody has shown what such training makes of them."""
    PREDICTED = "cosines of predictions"
    """The vectors were made so that their cosines are those of another model's predictions."""


@dataclass(frozen=True)
class Objective:
    """A kind of training: what it minimises, the gauges it leaves free, what that makes of cosines."""

    name: str
    """Name of the objective for `--objective`."""
    loss: str
    """Loss that is minimised, in words."""
    linear: Linear
    """The largest kind of linear gauge that leaves its value unchanged."""
    shifts: tuple[SideName, ...]
    """Sides that may be shifted, as far as the predictions allow it, with its value unchanged."""
    status: Status
    """Statement of the objective about cosines."""
    cosines: str
    """Statement in words that follow "the cosines are"."""
    links: tuple[str, ...]
    """Links of the models that are usually trained so."""
    sides: int = 2
    """1 where only vectors of one side are made so, which then are no trained model."""

    def keeps(self, linear: Linear, shifts: Iterable[SideName]) -> bool:
        """Check that a gauge of equal predictions lies in the symmetry of the objective, so that its value stays.

        Examples
        --------
        >>> OBJECTIVES["factors"].keeps(Linear.ROTATION, []), OBJECTIVES["factors"].keeps(Linear.ROTATION, ["right"])
        (True, False)
        """
        return linear <= self.linear and set(shifts) <= set(self.shifts)


_TABLE: dict[str, list[dict[str, Any]]] = tomllib.loads(
    files("embaudit.model").joinpath("trainings.toml").read_text(encoding="utf-8")
)


def _rows(table: str, *sequences: str) -> list[dict[str, Any]]:
    """Return the rows of a table of trainings.toml, its lists as tuples."""
    return [
        row | {name: tuple(row[name]) for name in sequences} for row in _TABLE[table]
    ]


OBJECTIVES: Mapping[str, Objective] = {
    row["name"]: Objective(
        **row | {"linear": Linear[row["linear"]], "status": Status(row["status"])}
    )
    for row in _rows("law", "shifts", "links")
}


def usual_objectives(link: str | Link) -> tuple[Objective, ...]:
    """List the objectives that models of a link are usually trained with.

    Examples
    --------
    >>> [objective.name for objective in usual_objectives("identity")]
    ['product', 'factors', 'factors-counted', 'decoupled-decay', 'non-negative', 'none']
    """
    # Rows of length 1 were trained by their dot products or by their cosines: which is not declared.
    links = ("identity", "cosine") if str(link) == "unknown" else (str(link),)
    return tuple(
        row
        for row in OBJECTIVES.values()
        if not {*links}.isdisjoint(row.links) and row.sides == 2
    )


@dataclass(frozen=True)
class Training:
    """Kind of training under its usual names, and what it sets: the law, the link and how one table is compared."""

    words: tuple[str, ...]
    """Names of it that `--objective` accepts."""
    predictions: str
    """The products that training compared, in words."""
    links: tuple[str, ...]
    """Links of such models, the one that its name sets first; none where its name sets no link."""
    law: str
    """Name of its objective; empty where no law is known."""
    fixes: str
    """The share of the cosines that training fixes, in words."""
    free: str
    """The gauges or cosines that it leaves free, in words; empty for a law."""
    compared: Comparison | None = None
    """Comparison of the rows of one table alone with each other."""
    alone: str | None = None
    """Name of the objective of one table alone, where that is another."""

    @property
    def link(self) -> str | None:
        """The link that its name sets."""
        return self.links[0] if self.links else None

    def objective(self, *, alone: bool = False) -> Objective:
        """Return its law, for one table alone or for two."""
        name = self.alone if alone and self.alone is not None else self.law
        if name:
            return OBJECTIVES[name]
        loss, leaves = f"the loss of {self.words[0]}", f"undecided: {self.fixes}"
        return Objective(
            self.words[0], loss, Linear.IDENTITY, (), Status.UNKNOWN, leaves, self.links
        )

    def allows(self, link: Link) -> bool:
        """Check that models of a link may have been trained so."""
        # One table is compared in the way that training compared it; two sides need one of the links of the training.
        if link.compares is not None:
            return link.compares == self.compared
        return not self.links or str(link) in self.links


TRAININGS = tuple(Training(**row) for row in _rows("training", "words", "links"))
"""Kinds of training, in the order of the table."""

_LINKS: dict[Status, Link] = {
    Status.TRAINED: Link.COSINE,
    Status.TEMPERATURE: Link.COSINE,
    Status.PREDICTED: Link.comparing("cosine"),
}
# The name of a law is a word, too, which sets no link but that of cosines.
_WORDS = {word: row for row in TRAININGS for word in row.words} | {
    name: Training(
        (name,),
        x.loss,
        x.links,
        name,
        x.cosines,
        "",
        "cosine" if x.status in _LINKS else None,
    )
    for name, x in OBJECTIVES.items()
}
TRAINING_WORDS = tuple(_WORDS)
"""All words, those of laws too."""


def known_training(name: object) -> Training | None:
    """Look a training up by a word; None for no word of the table, which a file of a later version may hold.

    Examples
    --------
    >>> known_training("als-wr").law, known_training("magic")
    ('factors-counted', None)
    """
    return _WORDS.get(name) if isinstance(name, str) else None


def known_objective(name: str | None, *, alone: bool = False) -> Objective | None:
    """Look the law of a word up, for one table alone or for two; None for no word of the table."""
    row = known_training(name)
    return None if row is None else row.objective(alone=alone)


def training(name: str) -> Training:
    """Look a training up by what people call it, or by the name of its law.

    Raises
    ------
    InputError
        For an unknown word; the nearest ones are named, each with what it means.

    Examples
    --------
    >>> training("clip").link, training("bge").compared, training("factors").law
    ('cosine', 'cosine', 'factors')
    >>> training("clib")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: objective must be a word of `embaudit explain objectives`; got 'clib'; the nearest ones
    are 'clip' (cosine of left with right, over a temperature).
    >>> training("als")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: objective must be a word of `embaudit explain objectives`; got 'als'; the nearest ones
    are 'implicit-als' (user · item); 'lenskit-als' (user · item); 'spark-als' (user · item); 'als-wr' (user · item).
    """
    row = known_training(name)
    if row is None:
        raise _unknown(name)
    return row


def _unknown(name: object) -> InputError:
    typed = str(name).strip().lower().replace("_", "-")
    # A word that is part of others, such as als, is all that their users say.
    whole = [word for word in _WORDS if typed in word.split("-")]
    near = [
        *dict.fromkeys([*whole, *get_close_matches(typed, _WORDS, n=3, cutoff=0.5)])
    ][: max(3, len(whole))]
    listed = "; ".join(f"{word!r} ({_WORDS[word].predictions})" for word in near)
    remedy = f"the nearest ones are {listed}" if near else "it lists them all"
    return must_be(
        "objective", "a word of `embaudit explain objectives`", repr(name), remedy
    )


def link_of_training(name: str | None, link: Link, *, alone: bool) -> Link:
    """Return the link that an objective sets, unless another link was declared.

    Vectors alone have the identity link if nothing better is known, so that an objective
    can replace it. An objective of rankings does not: without users there is no order.

    Examples
    --------
    >>> words = ("clip", "bge", "factors", "bpr")
    >>> [str(link_of_training(word, Identity(), alone=True)) for word in words]
    ['cosine', 'compared-cosine', 'identity', 'identity']
    """
    # A link that was declared stays; that of vectors alone stands for want of a better one.
    row = known_training(name)
    is_open = link.is_assumed or (alone and link == "identity")
    if row is None or not is_open:
        return link
    # The name of a law fits several links: it sets that of cosines that were trained, or made to be compared.
    if name in OBJECTIVES:
        return _LINKS.get(OBJECTIVES[row.law].status, Identity(is_assumed=True))
    if alone and row.compared is not None:
        return Link.comparing(row.compared)
    if row.link is None or (alone and row.link == "ranking"):
        return link
    return Link.of(row.link)


def require_agreement(
    name: str | None, link: Link, *, sides: int, is_declared: bool = False
) -> None:
    """Refuse an objective that does not make models of a link.

    Names of no row pass: a file may come from a later version. Vectors alone have the identity link for want of a
    better one, so they may name any objective, unless that link is declared, too.

    Raises
    ------
    InputError
        If they contradict each other.

    Examples
    --------
    >>> require_agreement("cosine", Identity(), sides=1)
    >>> require_agreement("clip", Identity(), sides=2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: link must be cosine for the objective clip (cosine of left with right, over a temperature); got 'identity';
    add link cosine, or leave the objective out.
    """
    if name is not None and not isinstance(name, str):
        raise _unknown(name)
    row = known_training(name)
    alone = sides == 1 and str(link) == "identity" and not is_declared
    if row is None or alone:
        return
    law = OBJECTIVES.get(name or "")
    if row.compared in ("distance", "hyperbolic") and sides > 1:
        raise must_be(
            "objective",
            "one of dot products or cosines for a model of two sides",
            f"{name!r} ({row.predictions})",
            "read one table alone, with --kind=vectors",
        )
    if row.allows(link) and (law is None or sides <= law.sides):
        return
    # A word is refused by its link; the name of a law by the objectives of the link, of which one may have been meant.
    if law is None:
        field, got, right = "link", str(link), " or ".join(row.links)
        remedy = (
            f"add --link {row.links[0]}, or leave the objective out"
            if row.links
            else "leave one of them out"
        )
        if link.compares is not None:
            field, got, right, remedy = (
                "compared",
                link.compares,
                row.compared or "left out",
                "leave one of them out",
            )
        raise must_be(
            field,
            f"{right} for the objective {name} ({row.predictions})",
            repr(got),
            remedy,
        )
    if link.compares is not None:
        raise must_be(
            "objective",
            f"left out where rows are compared by {link.comparison_words}",
            repr(name),
        )
    usual = ", ".join(other.name for other in usual_objectives(link))
    remedy = (
        f"choose link {' or '.join(law.links)} for it"
        if law.sides == 2
        else "it is for vectors of one side"
    )
    raise must_be(
        "objective", f"one of {usual} for a model with {link} link", repr(name), remedy
    )


def kept_objective(
    name: str | None, linear: Linear, shifts: Iterable[SideName] = ()
) -> str | None:
    """Return the objective of a model if a gauge leaves its value alone, None if not: nobody trained the new model so.

    Examples
    --------
    >>> kept_objective("factors", Linear.ROTATION), kept_objective("factors", Linear.ANY)
    ('factors', None)
    """
    law = known_objective(name)
    return name if law is not None and law.keeps(linear, shifts) else None
