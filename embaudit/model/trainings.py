"""Kinds of training by the words that people use, with the link and the law of each.

`TRAININGS` has one row per kind of training: its words, its predictions, the links of
such models, the name of its law and its source. Several kinds of training obey one law,
and some obey none that is known, so the laws have a table of their own
(`embaudit.model.objectives.OBJECTIVES`).

`--objective` accepts every word, and also the name of every law. A word sets the link
of a model unless a link was declared. The name of a law sets a link only if the law is
about cosines, because the other laws fit several links.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.model.links import LINKS, Comparison, Link, comparison_link
from embaudit.model.objectives import (
    OBJECTIVES,
    Linear,
    Objective,
    Status,
    usual_objectives,
)
from embaudit.model.side import SideName


@dataclass(frozen=True)
class Training:
    """Kind of training: the words for it, the links of its models, and its law."""

    words: tuple[str, ...]
    """Names that `--objective` accepts, the usual one first."""
    predictions: str
    """The predictions that training fits to the data, in words."""
    links: tuple[str, ...]
    """Possible links, the usual one first. Empty if the training names no link."""
    law: str
    """Name of its objective; empty if no law is known."""
    fixes: str
    """The share of the cosines that training fixes, in words."""
    free: str
    """The gauges or cosines that training leaves free, in words; empty for a law."""
    source: str
    """Publication or library that defines the training."""
    compared: Comparison | None = None
    """Comparison of the rows of one table; None if training used two sets of rows."""
    law_of_one_table: str | None = None
    """Name of the objective of one table alone; None if it is `law`."""

    @property
    def link(self) -> str | None:
        """The usual link of such models."""
        if not self.links:
            return None
        return self.links[0]

    def objective(self, *, alone: bool = False) -> Objective:
        """Return the law for two sides, or for one table alone.

        If no law is known, return an objective that only the identity gauge keeps.
        """
        law = self.law
        if alone and self.law_of_one_table is not None:
            law = self.law_of_one_table
        if law:
            return OBJECTIVES[law]
        return Objective(
            name=self.words[0],
            loss=f"the loss of {self.words[0]}",
            linear=Linear.IDENTITY,
            shifts=(),
            status=Status.UNKNOWN,
            cosines=f"undecided: {self.fixes}",
            links=self.links,
            source=self.source,
        )

    def allows(self, link: Link) -> bool:
        """Return True if models of this link can come from such training."""
        if link.compares is not None:
            return link.compares == self.compared
        return not self.links or link.name in self.links


TRAININGS = (
    Training(
        words=("implicit-als", "lenskit-als"),
        predictions="user · item",
        links=("identity",),
        law="factors",
        fixes=(
            "the cosines given the predictions: balanced in the limit, which 15 to "
            "20 iterations do not reach"
        ),
        free="a rotation, which moves no cosine",
        source="Hu, Koren and Volinsky (2008)",
    ),
    Training(
        words=("spark-als", "als-wr"),
        predictions="user · item",
        links=("identity",),
        law="factors-counted",
        fixes=(
            "the cosines given the predictions: balanced with the interactions as "
            "weights"
        ),
        free="a rotation, which moves no cosine",
        source="Zhou, Wilkinson, Schreiber and Pan (2008)",
    ),
    Training(
        words=("surprise-svd", "funk-svd", "sgd-l2"),
        predictions="user · item + biases",
        links=("identity",),
        law="factors-counted",
        fixes="the cosines given the predictions, by decay counted by samples",
        free="shifts where a bias absorbs them",
        source="Funk (2006); Koren, Bell and Volinsky (2009)",
    ),
    Training(
        words=("bpr", "warp"),
        predictions="order of the items for a user",
        links=("ranking",),
        law="",
        fixes="no law is known",
        free=(
            "a shift of all items and positive scales of the users, given the "
            "predictions"
        ),
        source="Rendle et al. (2009); Weston, Bengio and Usunier (2011)",
    ),
    Training(
        words=("two-tower-dot", "two-tower"),
        predictions="softmax over items, of dot products",
        links=("softmax",),
        law="softmax",
        fixes="no cosine; decay has a law only if both tables are free parameters",
        free="the axes, and a shift of all items",
        source="Yi et al. (2019)",
    ),
    Training(
        words=("two-tower-cosine", "clip", "siglip", "infonce"),
        predictions="cosine of left with right, over a temperature",
        links=("cosine",),
        law="temperature",
        fixes=(
            "the order of cosines of left with right. Say `fixed-temperature` if "
            "training did not learn the temperature"
        ),
        free="their level, and the cosines within a side",
        source=(
            "van den Oord, Li and Vinyals (2018); Radford et al. (2021); Zhai et "
            "al. (2023)"
        ),
    ),
    Training(
        words=("sentence-transformers", "e5", "gte", "bge"),
        predictions="cosine of rows with each other, one encoder",
        links=("cosine",),
        compared="cosine",
        law="temperature",
        law_of_one_table="cosine",
        fixes="the cosines of one table, within this model; with two sides their order",
        free="with two sides, the level and the cosines within a side",
        source=(
            "Reimers and Gurevych (2019); Wang et al. (2022); Li et al. (2023); "
            "Xiao et al. (2023)"
        ),
    ),
    Training(
        words=("dpr", "msmarco-dot"),
        predictions="dot product of rows with each other, or of left with right",
        links=("identity", "softmax"),
        compared="dot",
        law="none",
        fixes=(
            "differences of products; the cosines of one table, too, if the products "
            "themselves were fitted"
        ),
        free="a constant added to all products; with two sides every cosine",
        source="Karpukhin et al. (2020)",
    ),
    Training(
        words=("word2vec", "fasttext", "node2vec", "glove"),
        predictions="input · context, two tables",
        links=("identity", "sigmoid"),
        law="none",
        law_of_one_table="",
        fixes="no cosine with both tables; no law is known for one table alone",
        free="the axes of both tables",
        source=(
            "Mikolov et al. (2013); Pennington, Socher and Manning (2014); Grover "
            "and Leskovec (2016); Bojanowski et al. (2017)"
        ),
    ),
    Training(
        words=("transe", "metric-learning", "triplet-loss"),
        predictions="Euclidean distance of rows with each other",
        links=(),
        compared="distance",
        law="",
        fixes="no cosine: the distances are fixed, but not the origin",
        free="the origin: one vector added to all rows",
        source="Bordes et al. (2013); Schroff, Kalenichenko and Philbin (2015)",
    ),
    Training(
        words=("poincare",),
        predictions="hyperbolic distance of rows with each other, in the Poincaré ball",
        links=(),
        compared="hyperbolic",
        law="",
        fixes="no cosine: the distances are fixed, but not the origin",
        free="the origin: every isometry of hyperbolic space",
        source="Nickel and Kiela (2017)",
    ),
    Training(
        words=("sklearn-logistic", "sgd-classifier"),
        predictions="softmax or sigmoid over given inputs",
        links=("softmax", "sigmoid"),
        law="logistic-decay",
        fixes="one solution, which depends on the scale of the inputs",
        free="nothing, for these inputs",
        source="scikit-learn, LogisticRegression and SGDClassifier",
    ),
    Training(
        words=("sklearn-logistic-l1",),
        predictions="softmax or sigmoid over given inputs, L1 penalty or elastic net",
        links=("softmax", "sigmoid"),
        law="logistic-l1",
        fixes="one solution, which depends on the scale of the inputs",
        free="nothing, for these inputs",
        source="scikit-learn, LogisticRegression with an L1 or an elastic-net penalty",
    ),
    Training(
        words=("sklearn-logistic-no-penalty",),
        predictions="softmax or sigmoid over given inputs",
        links=("softmax", "sigmoid"),
        law="logistic",
        fixes=(
            "one solution (with a softmax, up to a shift), which depends on the scale "
            "of the inputs; no solution if a plane separates the labels"
        ),
        free="a shift of all labels of a softmax",
        source="scikit-learn, LogisticRegression without a penalty",
    ),
    Training(
        words=("last-layer-l2",),
        predictions="softmax or sigmoid over learned inputs (a network's last layer)",
        links=("softmax", "sigmoid"),
        law="",
        fixes=(
            "no law is known, given the predictions, because the decay of the earlier "
            "layers counts, too"
        ),
        free="the origin and the axes of the labels, for which no law is known",
        source="L2 added to the loss of a network",
    ),
    Training(
        words=("last-layer",),
        predictions="softmax over learned inputs, without decay",
        links=("softmax",),
        law="softmax",
        fixes="no cosine",
        free="the origin and the axes of the labels",
        source="Nielsen (2026)",
    ),
    Training(
        words=("adamw",),
        predictions="whatever the network predicts",
        links=(),
        law="decoupled-decay",
        fixes="no law is known, given the predictions",
        free="the axes, and shifts that predictions allow, for which no law is known",
        source="Loshchilov and Hutter (2019)",
    ),
    Training(
        words=("arcface", "cosface", "normalised-head"),
        predictions=(
            "softmax over labels, of cosine of label and feature times a fixed scale"
        ),
        links=("cosine",),
        law="fixed-temperature",
        fixes=(
            "the cosines, if the labels span enough directions (the audit tests "
            "this). Say `temperature` if training learned the scale"
        ),
        free=("the cosines of labels that are too few, or that lie on a hyperplane"),
        source="Wang et al. (2018); Deng et al. (2019)",
    ),
    Training(
        words=("nmf",),
        predictions="user · item, neither negative",
        links=("identity",),
        law="non-negative",
        fixes="no cosine",
        free="positive scales of the dimensions, and more where rows are sparse",
        source="Lee and Seung (1999)",
    ),
)
"""Kinds of training, in the order in which `embaudit explain objectives` prints."""


def _training_of(law: Objective) -> Training:
    """Return the training that is declared by the name of a law."""
    compared: Comparison | None = None
    if law.status in (Status.TRAINED, Status.TEMPERATURE, Status.PREDICTED):
        compared = "cosine"
    return Training(
        words=(law.name,),
        predictions=law.loss,
        links=law.links,
        law=law.name,
        fixes=law.cosines_given(),
        free="",
        source=law.source,
        compared=compared,
    )


def _by_word() -> dict[str, Training]:
    """Return the training of each word and of each name of a law."""
    trainings: dict[str, Training] = {}
    for training in TRAININGS:
        for word in training.words:
            trainings[word] = training
    for law in OBJECTIVES.values():
        trainings[law.name] = _training_of(law)
    return trainings


_BY_WORD: Mapping[str, Training] = _by_word()
TRAINING_WORDS = tuple(_BY_WORD)
"""All words, including the names of laws."""


def known_training(name: object) -> Training | None:
    """Look up a training by a word; return None for an unknown word.

    A file may hold a word of a later version.

    Examples
    --------
    >>> known_training("als-wr").law, known_training("magic")
    ('factors-counted', None)
    """
    if not isinstance(name, str):
        return None
    return _BY_WORD.get(name)


@dataclass(frozen=True)
class StatedTraining:
    """What the source of a model says of its training.

    Examples
    --------
    >>> str(StatedTraining("product", "objective in m.npz"))
    'objective in m.npz says product'
    """

    objective: str
    """Word for the training, or the name of its law."""
    source: str
    """File, array or object that says so."""

    def __str__(self) -> str:
        return f"{self.source} says {self.objective}"

    def unless_agreed(self, declared: str, *, alone: bool) -> StatedTraining | None:
        """Return this statement if a declared training has another law.

        Return None if the two words agree: they name the same law, they differ only in
        whether the temperature was learned, or the source states that no penalty was
        used and no law is known for the declared training.

        Parameters
        ----------
        declared : str
            Word for the training that the caller declares.
        alone : bool
            True for one table alone.
        """
        stated = known_objective(self.objective, alone=alone)
        own = known_objective(declared, alone=alone)
        if stated == own:
            return None
        # A stored temperature does not show whether training learned it.
        laws = {law.name for law in (stated, own) if law is not None}
        if laws == {"temperature", "fixed-temperature"}:
            return None
        # Pairwise ranking without decay, for example: the source knows that there was
        # no penalty, the word says what was compared.
        is_without_law = own is not None and own.status is Status.UNKNOWN
        if stated is not None and stated.name == "none" and is_without_law:
            return None
        return self


def known_objective(name: str | None, *, alone: bool = False) -> Objective | None:
    """Look up the law of a word, for two sides or for one table alone.

    Return None for an unknown word.
    """
    training = known_training(name)
    if training is None:
        return None
    return training.objective(alone=alone)


def find_training(name: str) -> Training:
    """Look up a training by a word, or by the name of its law.

    Raises
    ------
    InputError
        For an unknown word; the sentence names the nearest words with their meaning.

    Examples
    --------
    >>> find_training("clip").link, find_training("factors").law
    ('cosine', 'factors')
    >>> find_training("bge").compared
    'cosine'
    >>> find_training("clib")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: objective must be a name that
    `embaudit explain objectives` lists; got 'clib'; the nearest names are 'clip'
    (cosine of left with right, over a temperature).
    >>> find_training("als")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: objective must be a name that
    `embaudit explain objectives` lists; got 'als'; the nearest names are 'implicit-als'
    (user · item); 'lenskit-als' (user · item); 'spark-als' (user · item); 'als-wr'
    (user · item).
    """
    found = known_training(name)
    if found is None:
        raise _unknown(name)
    return found


def _unknown(name: object) -> InputError:
    """Return the error for an unknown word."""
    typed = str(name).strip().lower().replace("_", "-")
    # People often type one part of a word only, such as als.
    words = [word for word in _BY_WORD if typed in word.split("-")]
    n_words = max(3, len(words))
    for word in get_close_matches(typed, _BY_WORD, n=3, cutoff=0.5):
        if word not in words:
            words.append(word)
    nearest = "; ".join(
        f"{word!r} ({_BY_WORD[word].predictions})" for word in words[:n_words]
    )
    remedy = "run this command for all names"
    if nearest:
        remedy = f"the nearest names are {nearest}"
    return must_be(
        "objective",
        "a name that `embaudit explain objectives` lists",
        repr(name),
        remedy,
    )


def _link_of_law(law: Objective) -> Link:
    """Return the link that the name of a law sets.

    Laws that are not about cosines fit several links, so the identity is only assumed.
    """
    if law.status in (Status.TRAINED, Status.TEMPERATURE):
        return LINKS["cosine"]
    if law.status is Status.PREDICTED:
        return comparison_link("cosine")
    return replace(LINKS["identity"], is_assumed=True)


def is_open_link(link: Link, *, alone: bool) -> bool:
    """Return True if an objective can set the link, because nobody declared it.

    Vectors alone have the identity link if nothing better is known, so this link of
    theirs is open even if it was not marked as assumed.

    Examples
    --------
    >>> link = LINKS["identity"]
    >>> is_open_link(link, alone=True), is_open_link(link, alone=False)
    (True, False)
    """
    return link.is_assumed or (alone and link.name == "identity")


def link_of_training(name: str | None, link: Link, *, alone: bool) -> Link:
    """Return the link that an objective sets if the link of the model is open.

    An objective of rankings does not set the link of vectors alone, because there is no
    order without users.

    Examples
    --------
    >>> words = ("clip", "bge", "factors", "bpr")
    >>> identity = LINKS["identity"]
    >>> [link_of_training(word, identity, alone=True).name for word in words]
    ['cosine', 'compared-cosine', 'identity', 'identity']
    """
    training = known_training(name)
    if training is None or not is_open_link(link, alone=alone):
        return link
    if name in OBJECTIVES:
        return _link_of_law(OBJECTIVES[training.law])
    if alone and training.compared is not None:
        return comparison_link(training.compared)
    if training.link is None or (alone and training.link == "ranking"):
        return link
    return LINKS[training.link]


def require_agreement(
    name: str | None, link: Link, *, sides: int, is_declared: bool = False
) -> None:
    """Raise InputError if models of this link are not trained with this objective.

    Unknown words pass, because a file may come from a later version. Vectors alone with
    the identity link can name any objective, unless the caller declared that link.

    Examples
    --------
    >>> require_agreement("cosine", LINKS["identity"], sides=1)
    >>> require_agreement("clip", LINKS["identity"], sides=2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: link must be cosine for the objective clip (cosine of
    left with right, over a temperature); got 'identity'; add link='cosine', or omit
    the objective.
    """
    if name is None:
        return
    if not isinstance(name, str):
        raise _unknown(name)
    training = known_training(name)
    is_open = sides == 1 and link.name == "identity" and not is_declared
    if training is None or is_open:
        return
    if training.compared in ("distance", "hyperbolic") and sides > 1:
        raise must_be(
            "objective",
            "an objective of dot products or cosines for a model of two sides",
            f"{name!r} ({training.predictions})",
            Sentence("read a single table with {}", Option("kind", "vectors")),
        )
    law = OBJECTIVES.get(name)
    if training.allows(link) and (law is None or sides <= law.sides):
        return
    if law is None:
        raise _other_link(name, training, link)
    raise _other_objective(law, link)


def _other_link(word: str, training: Training, link: Link) -> InputError:
    """Return the error for a word of training that does not make models of a link."""
    declared = f"for the objective {word} ({training.predictions})"
    if link.compares is not None:
        return must_be(
            "compared",
            f"{training.compared or 'omitted'} {declared}",
            repr(link.compares),
            "omit one of them",
        )
    return must_be(
        "link",
        f"{' or '.join(training.links)} {declared}",
        repr(link.name),
        Sentence("add {}, or omit the objective", Option("link", training.links[0])),
    )


def _other_objective(law: Objective, link: Link) -> InputError:
    """Return the error for the name of a law that models of a link do not obey.

    The sentence names the objectives of the link, because the user may have meant one
    of them.
    """
    if link.compares is not None:
        return must_be(
            "objective",
            f"omitted if rows are compared by {link.comparison_words}",
            repr(law.name),
        )
    usual = ", ".join(other.name for other in usual_objectives(link))
    remedy = f"choose link {' or '.join(law.links)} for it"
    if law.sides == 1:
        remedy = "this objective is for vectors of one side"
    return must_be(
        "objective",
        f"one of {usual} for a model with {link.name} link",
        repr(law.name),
        remedy,
    )


def kept_objective(
    name: str | None, linear: Linear, shifts: Iterable[SideName] = ()
) -> str | None:
    """Return the objective if a gauge of this kind keeps its value, else None.

    A model whose value of the objective changed was not trained with it.

    Examples
    --------
    >>> kept_objective("factors", Linear.ROTATION)
    'factors'
    >>> kept_objective("factors", Linear.ANY)
    """
    law = known_objective(name)
    if law is None or not law.keeps(linear, shifts):
        return None
    return name
