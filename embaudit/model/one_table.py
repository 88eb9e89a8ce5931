"""Models that compare the rows of one table, and links that a training sets."""

from __future__ import annotations

from embaudit.errors import Option, Sentence, must_be
from embaudit.model.factor_model import FactorModel
from embaudit.model.links import Comparison, comparison_link
from embaudit.model.sizes import require_model
from embaudit.model.trainings import find_training, link_of_training


def require_two_sides(model: FactorModel, purpose: str) -> None:
    """Raise InputError if rows are compared with each other, not with a second side."""
    require_model(model)
    if model.compared is not None:
        got = f"rows compared by {model.link.comparison_words}"
        remedy = "use them as they are: its predictions fix their cosines"
        if model.link.measures_distances:
            remedy = "compare them by distance, as they are"
        raise must_be(f"a model for {purpose}", "a model of two sides", got, remedy)


def with_comparison(model: FactorModel, compared: Comparison | None) -> FactorModel:
    """Return the model that compares the rows of a table of vectors with each other.

    The model is returned unchanged if `compared` is None.

    Raises
    ------
    InputError
        Unless the model is a plain table of vectors and `compared` is one of the words
        of `Comparison`.

    Examples
    --------
    >>> with_comparison(FactorModel.from_vectors([[1.0], [2.0]]), "dot")
    FactorModel(2 items, 1 dimension, compared by dot product, float64)
    """
    if compared is None:
        return model
    link = comparison_link(compared)
    # The head of a classifier is one table as well, but its rows are multiplied with
    # inputs.
    is_one_table = model.left_side is None and model.compared is None
    if is_one_table and model.link.name not in ("identity", "cosine"):
        got = f"a model with {model.link.name} link"
        remedy = Sentence("read it with {}", Option("kind", "vectors"))
        raise must_be(
            "rows to compare with each other",
            "the rows of one table of vectors",
            got,
            remedy,
        )
    changed = model.replace(link=link)
    _require_ball(changed)
    return changed


def require_link_or_comparison(link: object, compared: Comparison | None) -> None:
    """Raise InputError if both are declared, because a comparison sets the link.

    Examples
    --------
    >>> require_link_or_comparison("identity", "cosine")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: link must be omitted if compared is given, which sets
    it; got 'identity'.
    """
    if link is not None and compared is not None:
        allowed = Sentence("omitted if {} is given, which sets it", Option("compared"))
        raise must_be("link", allowed, repr(link))


def _require_ball(model: FactorModel) -> None:
    """Raise InputError if rows with hyperbolic distances lie outside the unit ball."""
    longest = float(model.right_side.norms.max())
    if model.compared == "hyperbolic" and longest >= 1:
        raise must_be(
            "rows of the Poincaré ball",
            "shorter than 1",
            f"a length of {longest:.3g}",
            "convert other coordinates of hyperbolic space to the ball",
        )


def with_objective(model: FactorModel, name: str | None = None) -> FactorModel:
    """Declare the training of a model by a word or the name of a law, and set its link.

    Without a name, the objective of the model sets the link.

    Raises
    ------
    InputError
        For an unknown word, and for one that does not make models of the link.

    Examples
    --------
    >>> pair = FactorModel.from_user_item([[0.6, 0.8]], [[1.0, 0.0]])
    >>> [with_objective(pair, name).link.name for name in (None, "clip", "als-wr")]
    ['unknown', 'cosine', 'identity']
    >>> with_objective(FactorModel.from_vectors([[0.6, 0.8]]), "bge").compared
    'cosine'
    """
    name = model.objective if name is None else name
    if name is None:
        return model
    training = find_training(name)
    if training.law == "non-negative":
        _require_no_negative(model, name)
    link = link_of_training(name, model.link, alone=model.left_side is None)
    changed = model
    if name != model.objective or link != model.link:
        changed = model.replace(objective=name, link=link)
    _require_ball(changed)
    return changed


def _require_no_negative(model: FactorModel, name: str) -> None:
    """Raise InputError if a row has a negative number."""
    for side in model.sides:
        least = float(model.factors(side).min())
        if least < 0:
            rows = f"a {model.title(side)} row with {least:.3g}"
            raise must_be(
                f"a model of the objective {name}",
                "without negative numbers",
                rows,
                "name another objective",
            )
