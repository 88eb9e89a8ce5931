"""The truth table: small models with known equivalent models, and the conclusions that
an audit must draw.

Nothing here is computed by the package. F, P and U stand for free, pinned and undecided
cosines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.model import FactorModel, as_link, softmax_link, with_objective
from embaudit.model.final_norm import FinalNorm
from embaudit.model.tying import Tying

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Row:
    """One model and its truth."""

    name: str
    model: FactorModel
    truth: Mapping[str, str]
    """For a role, "F", "P" or "U"."""
    findings: Mapping[str, str] = field(default_factory=dict)
    """Code to severity; of a softmax head those of EMB3xx and EMB204 may come besides.
    """
    says: tuple[str, ...] = ()
    """Phrases that the verdict, the findings, a claim or the rows it is about must
    hold.
    """
    never: tuple[str, ...] = ()
    """Phrases that none of them may hold, beside those of `NEVER`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the audit."""
    answer: str = ""
    """"YES", "NO", "BY CONVENTION", "UNKNOWN" or "CHECK FIRST" of right cosines, or of
    the role that `options` name; that of `ANSWERS` where it is not given.
    """
    whole: bool = True
    """Whether the audit may speak of all equivalent models."""

    @property
    def word(self) -> str:
        """The answer that is true."""
        return self.answer or ANSWERS[self.truth["right"]]

    @property
    def fails(self) -> bool:
        """Whether `--fail-on issue` must fail."""
        return "issue" in self.findings.values()


ANSWERS = {"F": "NO", "P": "YES", "U": "UNKNOWN"}
CONVENTION, OPEN, CHECK = "BY CONVENTION", "UNKNOWN", "CHECK FIRST"
UNSAID = {
    "YES": ("Do not read", "a convention", "stay when"),
    "NO": ("as a convention", "part of what the model predicts", "nobody knows"),
    CONVENTION: (
        "Do not read",
        "part of what the model predicts",
        "the same have other cosines",
    ),
    OPEN: (
        "Do not read",
        "part of what the model predicts",
        "stay when",
        "at hand moves",
    ),
    CHECK: (
        "Do not read",
        "part of what the model predicts",
        "stay when",
        "at hand moves",
        "a convention",
    ),
}
"""What neither answer nor advice may say beside a word."""
NEVER = (
    "no change of the factors moves these cosines",
    "Read them as trained",
    "read the cosines as trained",
    "No equivalent model",
    "no equivalent model within",
    "takes no part in the predictions",
    "nothing moves",
    "of whatever network",
    "At full rank",
    "not balanced",
    "keep one of each",
    "a change of axes would then change a length",
)
"""What no audit says of anything."""
NEVER_ALONE = ("predict", "Predict", "user")
"""What is not said of vectors alone: nobody sees a prediction, and who they are for is
not known.
"""
LINKS = {
    "identity": "identity",
    "sigmoid": "sigmoid",
    "softmax": "softmax",
    "capped": softmax_link(soft_cap=3.0),
    "unit labels": softmax_link(unit_rows=True),
    "unit labels, capped": softmax_link(soft_cap=3.0, unit_rows=True),
    "cosine": "cosine",
    "ranking": "ranking",
}
BIASES = {
    "none": (),
    "left": ("left_bias",),
    "right": ("right_bias",),
    "both": ("left_bias", "right_bias"),
}
# no bias  left  right  both: cosines of the right side, then of the left one
LINE = {
    # A sign is turned by a shift alone.
    "identity": ("PP", "FP", "PF", "FF"),
    "sigmoid": ("PP", "FP", "PF", "FF"),
    # A number for each row of scores is never seen.
    "softmax": ("FP", "FP", "FF", "FF"),
    # Equal probabilities do not imply equal scores.
    "capped": ("UU", "FU", "UF", "FF"),
    # Labels of length 1 hold their signs; inputs may be shifted where a label bias
    # takes that up.
    "unit labels": ("PP", "PP", "PF", "PF"),
    "unit labels, capped": ("UU", "UU", "UF", "UF"),
    "cosine": ("PP", "PP", "PP", "PP"),
    "ranking": ("FU", "FU", "FF", "FF"),
}
PLANE = {
    "identity": ("FF",) * 4,
    "sigmoid": ("FF",) * 4,
    "softmax": ("FF",) * 4,
    "capped": ("FF",) * 4,
    "unit labels": ("PP", "PP", "PF", "PF"),
    "unit labels, capped": ("UU", "UU", "UF", "UF"),
    "cosine": ("PP",) * 4,
    "ranking": ("FF",) * 4,
}
FINDING = {"F": {"EMB102": "tip"}, "U": {"EMB105": "tip"}, "P": {}}
FREE, TWO = {"right": "F", "left": "F"}, {"EMB102": "tip"}


def drawn(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Rows in general position."""
    return np.random.default_rng(seed).standard_normal((n, k))


def centred(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Rows whose sum is 0."""
    x = drawn(n, k, seed)
    return x - x.mean(axis=0)


def orthonormal(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Columns of length 1 at right angles."""
    return np.linalg.qr(drawn(n, k, seed))[0]


def grid() -> Iterator[Row]:
    """Every link with every pattern of biases, in one dimension and in two."""
    for k, table in ((1, LINE), (2, PLANE)):
        for link, truths in table.items():
            for (pattern, biases), truth in zip(BIASES.items(), truths, strict=True):
                values = {
                    name: np.linspace(-1, 1, 7 if name == "left_bias" else 6)
                    for name in biases
                }
                head = as_link(LINKS[link]).name == "softmax"
                right = centred(6, k, 1) if head else drawn(6, k, 1)
                found = dict(FINDING[truth[0]])
                if "right" in pattern or "both" in pattern:
                    found |= {"EMB202": "tip"} if link != "cosine" else {}
                yield Row(
                    f"rank {k}, {link}, bias {pattern}",
                    FactorModel.from_arrays(
                        drawn(7, k), right, link=LINKS[link], **values
                    ),
                    {"right": truth[0], "left": truth[1]},
                    found,
                    never=("every equivalent model",) if link == "ranking" else (),
                    whole=link not in ("capped", "ranking"),
                    # The signs on the line are those of the centred scores.
                    answer=CONVENTION if (k, truth[0]) == (1, "F") else "",
                )


def deficient() -> Iterator[Row]:
    """Directions that one side does not have, or has alike in every row."""
    p, q, ones, zeros = drawn(7, 3), drawn(6, 3, 1), np.ones((7, 1)), np.zeros(6)
    user = FactorModel.from_user_item
    blind = {"EMB203": "issue", **TWO}
    says = ("more than 2 of 3 dimensions",)
    yield Row("users miss a direction", user(p * [1, 1, 0], q), FREE, blind, says)
    yield Row("items miss a direction", user(p, q * [1, 1, 0]), FREE, blind, says)
    # A column of zeros on both sides is storage, and no room for other models.
    both = user(p * [1, 1, 0], q * [1, 1, 0])
    yield Row("both miss one", both, FREE, TWO, ("rank 2",), says)
    yield Row(
        "users miss a mixture", user(p @ (np.eye(3) - 1 / 3), q), FREE, blind, says
    )
    yield Row(
        "users miss a direction, ranking",
        user(p * [1, 1, 0], q, link="ranking"),
        FREE,
        blind,
        whole=False,
    )
    yield Row(
        "one direction is left",
        user(p * [1, 0, 0], q),
        FREE,
        blind,
        ("more than 1 of 3 dimensions",),
    )
    yield Row(
        "two users in three dimensions",
        user(p[:2], q),
        FREE,
        blind,
        ("2 users cannot span 3 dimensions",),
    )
    yield Row(
        "two items in three dimensions",
        user(p, q[:2]),
        FREE,
        blind,
        ("2 items cannot span 3 dimensions",),
    )
    line = user(
        np.column_stack([p[:, :1], 0 * ones]), np.column_stack([q[:, :1], np.ones(6)])
    )
    yield Row(
        "a line in the plane", line, FREE, blind, ("more than 1 of 2 dimensions",)
    )
    constant = np.column_stack([p[:, :2], 2 * ones])
    absorbs = {"EMB204": "tip", **TWO}
    yield Row(
        "constant column of users",
        user(constant, q),
        FREE,
        absorbs,
        ("Make this component the item bias",),
    )
    yield Row(
        "the same with an item bias",
        user(constant, q, item_bias=zeros),
        FREE,
        absorbs,
        ("to the bias, then drop it",),
    )
    constant = np.column_stack([q[:, :2], np.full(6, -3.0)])
    yield Row(
        "constant column of items",
        user(p, constant),
        FREE,
        absorbs,
        ("Make this component the user bias",),
    )
    biased = user(p, constant, user_bias=np.zeros(7))
    yield Row(
        "the same with a user bias",
        biased,
        FREE,
        absorbs,
        ("to the bias, then drop it",),
    )
    alike, pinned = user(p[:, :1], np.full((6, 1), 2.0)), {"right": "P", "left": "P"}
    yield Row("items alike on a line", alike, pinned, {"EMB204": "tip"})
    biased = alike.replace(left_bias=np.zeros(7))
    yield Row("items alike, a user bias", biased, FREE, absorbs)
    alike = user(np.ones((7, 1)), q[:, :1])
    yield Row("users alike on a line", alike, pinned, {"EMB204": "tip"})
    # Nothing is left of the scores that the bias does not hold.
    biased = alike.replace(right_bias=zeros)
    yield Row(
        "users alike, an item bias", biased, FREE, absorbs, ("may hold any rows",)
    )


def shapes() -> Iterator[Row]:
    """Twins, parallel rows, one side alone, few labels."""
    p, q = drawn(7, 2), drawn(6, 2, 1)
    user, vectors, alone = (
        FactorModel.from_user_item,
        FactorModel.from_vectors,
        {"right": "F"},
    )
    says = (
        "80 % of item rows duplicate another row",
        "2 pairs, 2 groups, the largest of 2 rows",
    )
    yield Row(
        "twins", user(p, q[[0, 0, 1, 2, 2]]), FREE, {"EMB401": "issue", **TWO}, says
    )
    parallel = user(p, np.outer([1.0, 2, -3, 4], [1, 1]))
    yield Row(
        "parallel items", parallel, FREE, {"EMB203": "issue", **TWO}, answer=CONVENTION
    )
    line = np.outer([1.0, 2, -3, 4], [1, 1])
    yield Row(
        "parallel vectors",
        vectors(line),
        {"right": "U"},
        {"EMB105": "tip"},
        says=("vectors of rank 1", "if no bias takes part"),
        answer=OPEN,
    )
    nearly = vectors(line + 1e-5 * drawn(4, 2, 1))
    yield Row("nearly parallel vectors", nearly, alone, TWO, answer=OPEN)
    # About 1e-13 of a squared length lies across the line.
    unsure = vectors(line + 6e-7 * drawn(4, 2, 1))
    yield Row(
        "vectors that rounding may have turned off a line",
        unsure,
        {"right": "U"},
        {"EMB105": "tip", "EMB401": "issue"},
        (
            "rounding may have put it there",
            ", and numbers stored with more digits would",
        ),
        ("no method here decides it",),
    )
    yield Row("vectors", vectors(q), alone, TWO, answer=OPEN)
    yield Row(
        "vectors on a line",
        vectors(q[:, :1]),
        {"right": "U"},
        {"EMB105": "tip"},
        says=("if no bias takes part",),
        answer=OPEN,
    )
    # The same items, loaded with users that have a bias, may be turned by a shift.
    yield Row(
        "sigmoid vectors on a line",
        vectors(q[:, :1]).replace(link="sigmoid"),
        {"right": "U"},
        {"EMB105": "tip"},
        says=("if no bias takes part",),
        answer=OPEN,
    )
    # Users without the third direction leave these items room, users with it do not.
    for name, users in (("lack", np.eye(2, 3)), ("have", drawn(9, 3))):
        yield Row(
            f"cosines of items, a direction that users {name}",
            user(users, drawn(6, 3, 1), link="cosine", objective="cosine"),
            {"right": "F"} if name == "lack" else {"right": "P", "left": "P"},
            {"EMB101": "issue"} if name == "lack" else {},
        )
    yield Row(
        "cosines of the same items alone",
        vectors(drawn(6, 3, 1)).replace(link="cosine", objective="cosine"),
        {"right": "U"},
        {"EMB105": "tip"},
        says=("and the other side (`--left-file FILE`) would decide it",),
        never=("as part of what the model predicts",),
        answer=OPEN,
        whole=False,
    )
    yield Row(
        "a row of zeros",
        user(p, q * [[1], [1], [0], [1], [1], [1]]),
        FREE,
        {"EMB201": "tip", **TWO},
    )
    full = user(drawn(7, 5), drawn(6, 5, 1))
    yield Row("nearly as many dimensions as rows", full, FREE, TWO)
    single = FactorModel.from_vectors(drawn(8, 2)).replace(link="cosine")
    yield Row(
        "unit vectors alone",
        single,
        {"right": "U"},
        {"EMB105": "tip"},
        whole=False,
        says=("if the other side has full rank",),
        answer=OPEN,
    )
    unit = drawn(8, 2)
    unit = vectors(unit / np.linalg.norm(unit, axis=1, keepdims=True))
    yield Row(
        "unit rows of nobody knows what",
        unit,
        alone,
        {"EMB409": "tip", **TWO},
        (
            "have length 1",
            "In the first case the cosines can be fixed, "
            "if the rows span enough directions",
            "`--objective cosine`",
            "`--compared cosine`",
        ),
        ("fixed, whatever",),
        answer=OPEN,
    )
    same = ("if the other side has full rank", "The other side was not loaded")
    other = (
        "The declared training minimises",
        "have length 1",
        "is not known",
        "does not show what that fixes",
        "moves",
    )
    for name, declared in (
        ("link", {"link": "cosine"}),
        ("objective", {"objective": "cosine"}),
    ):
        yield Row(
            f"unit rows, {name} cosine",
            unit.replace(**declared),
            {"right": "U"},
            {"EMB105": "tip"},
            same,
            other,
            whole=False,
            answer=OPEN,
        )
    said = (
        "Every latent direction counts the same",
        "With as many directions as items, all these cosines would be 0",
        "weigh all directions alike",
    )
    turned = vectors(orthonormal(9, 3))
    yield Row(
        "orthonormal columns alone",
        turned,
        alone,
        {"EMB410": "tip", **TWO},
        said,
        answer=OPEN,
    )
    square = vectors(orthonormal(9, 9))
    yield Row(
        "as many directions as rows",
        square,
        alone,
        {"EMB409": "tip", "EMB412": "issue", **TWO},
        ("all item cosines are 0", "--transpose right"),
        said,
        answer=OPEN,
    )
    few = FactorModel.from_vectors(np.eye(3)).replace(link="cosine")
    yield Row("axes alone", few, {"right": "U"}, {"EMB105": "tip"})
    head = FactorModel.from_softmax
    yield Row(
        "a head without inputs", head(centred(8, 2)), alone, TWO, answer=CONVENTION
    )
    yield Row(
        "a head off its mean",
        head(centred(8, 2) + 2),
        alone,
        {"EMB301": "issue", **TWO},
        ("the origin that cosines are measured from is a convention",),
    )
    yield Row(
        "a head of which few labels are asked",
        head(centred(40, 4) + 2),
        alone,
        {"EMB301": "issue", **TWO},
        (" of 6 sampled labels keep their nearest label", "pairs looked at (50 of"),
        ("of the labels have another", "% of the labels", "all pairs"),
        {"n_lists": 1},
    )
    # Without the mean row each of the six directions has another nearest one; of all
    # twenty labels four have.
    few, hardly = (
        [[1.0, -4.0], [-5.0, 2.0], [4.0, 5.0], [-1.0, 5.0]],
        [[5.0, 2.0]] * 8 + [[1.0, 1.0]] * 8,
    )
    yield Row(
        "a head most labels of which were hardly trained",
        head([*few, *hardly]),
        alone,
        {"EMB301": "issue", "EMB401": "issue", **TWO},
        ("6 of 6 labels (duplicates counted once) get another nearest label",),
        ("changes 20 %", "copies included"),
    )
    line = head([[float(x)] for x in range(-4, 5) if x])
    yield Row(
        "a head on a line",
        line,
        alone,
        TWO,
        (
            "subtracting the mean row changes little, but other shifts of all rows "
            "keep the predictions",
        ),
        ("rescaled",),
        answer=CONVENTION,
    )
    yield Row(
        "a head of two labels",
        head([[1.0, 0.0], [0.0, 1.0]]),
        alone,
        {"EMB301": "issue", **TWO},
    )
    yield Row(
        "axes as cosines",
        user(np.eye(2), np.eye(2), link="cosine"),
        # Pinned in truth; counting is sufficient and not necessary.
        {"right": "U", "left": "U"},
        {"EMB105": "tip"},
        ("Too few rows: 2 conditions for 3 unknowns",),
    )


def objectives() -> Iterator[Row]:
    """Every way of training."""
    p, q, user = orthonormal(9, 2), orthonormal(8, 2, 1), FactorModel.from_user_item
    issue, chosen, unknown = {"EMB101": "issue"}, {"EMB103": "tip"}, {"EMB102": "tip"}
    for link in ("identity", "ranking"):
        made = user(p, q, link=link, objective="product")
        yield Row(
            f"product, {link}",
            made,
            FREE,
            issue,
            ("every rescaling",),
            whole=link == "identity",
            answer=CONVENTION if link == "identity" else "",
        )
    for link in ("identity", "sigmoid", "ranking"):
        options = {"whole": link != "ranking"}
        made = user(p, q, link=link)
        for name, found, says in (
            ("none", issue, "the objective sees the scores only"),
            ("factors", chosen, "given the predictions, but chosen by the regulariser"),
            ("factors-counted", chosen, "pinned by the penalty given the predictions"),
            ("decoupled-decay", unknown, "no law is known"),
        ):
            # The centred scores of rankings differ from these, and only a penalty is
            # known to have chosen them.
            answer = "NO" if link == "ranking" and found is not chosen else CONVENTION
            yield Row(
                f"{name}, {link}",
                made.replace(objective=name),
                FREE,
                found,
                (says,),
                answer=answer,
                **options,
            )
    # A declaration against what the model says of itself comes first, also if it is the
    # less favourable one. Another word for the same law is no contradiction.
    for stated, declared, found in (
        ("product", "implicit-als", chosen),
        ("factors", "product", issue),
        ("als-wr", "factors", chosen),
    ):
        yield Row(
            f"trained as {stated}, declared as {declared}",
            made.replace(objective=stated, link="identity"),
            FREE,
            {"EMB106": "issue", **found},
            (f"You declared the objective {declared}, but the model says {stated}",),
            options={"objective": declared},
            answer=CHECK,
        )
    yield Row(
        "trained as implicit-als, declared as factors",
        made.replace(objective="implicit-als", link="identity"),
        FREE,
        chosen,
        never=("Only one of them can be right",),
        options={"objective": "factors"},
        answer=CONVENTION,
    )
    stretched = made.replace(
        left=p * [1, 1.5], right=q / [1, 1.5], link="identity", objective="factors"
    )
    yield Row(
        "factors, rescaled",
        stretched,
        FREE,
        {**chosen, "EMB104": "tip"},
        ("at the penalty's minimum",),
        answer=CONVENTION,
    )
    contexts = FactorModel.from_vectors(drawn(8, 2)).replace(objective="word2vec")
    says = (
        "multiplied these rows with a second set",
        "no law is known for one table alone",
    )
    yield Row(
        "word2vec, one table", contexts, {"right": "F"}, unknown, says, answer=OPEN
    )
    labels = FactorModel.from_softmax(centred(8, 2))
    says = ("no law is known",)
    yield Row(
        "a last layer with decay, near its mean row",
        labels.replace(objective="last-layer-l2"),
        {"right": "F"},
        unknown,
        says,
        answer=CONVENTION,
    )
    yield Row(
        "a last layer with decay, off its mean row",
        FactorModel.from_softmax(centred(8, 2) + 2, objective="last-layer-l2"),
        {"right": "F"},
        {"EMB301": "issue", **unknown},
        says,
    )
    for name, found, says in (
        ("softmax", issue, "neither the origin nor the axes"),
        (
            "softmax-decay",
            chosen,
            "given the predictions, but chosen by the regulariser",
        ),
        ("logistic", chosen, "if the inputs, with a constant, span every direction"),
        ("logistic-decay", chosen, "unique given the predictions for these inputs"),
        ("decoupled-decay", unknown, "no law is known"),
    ):
        answer = "NO" if name == "softmax" else CONVENTION
        yield Row(
            f"{name}, softmax",
            labels.replace(objective=name),
            {"right": "F"},
            found,
            (says,),
            answer=answer,
        )
    made = FactorModel.from_softmax(centred(8, 2) + 1, objective="logistic-decay")
    against, says = (
        {**chosen, "EMB306": "tip"},
        ("which contradicts the declared training (logistic-decay",),
    )
    yield Row(
        "a mean row against decay",
        made,
        {"right": "F"},
        {**against, "EMB301": "issue"},
        says,
    )
    for share, found in ((0.005, chosen), (0.02, against)):
        made = FactorModel.from_softmax(
            centred(40, 2) + share, objective="softmax-decay"
        )
        contradiction = (
            "of a typical row long, "
            "which contradicts the declared training (softmax-decay, as you declared): "
            "equal decay of all rows ends with a mean row of zero"
        )
        if found is against:
            says, never = (contradiction,), ()
        else:
            says, never = (), (contradiction,)
        yield Row(
            f"a mean row of {share} under decay",
            made,
            {"right": "F"},
            found,
            says,
            never,
            answer=CONVENTION,
        )
    made = user(drawn(7, 2), drawn(6, 2, 1), link="cosine", objective="cosine")
    yield Row("cosine, cosine", made, {"right": "P", "left": "P"})
    made = user(np.eye(2, 3), drawn(6, 3, 1), link="cosine", objective="cosine")
    yield Row(
        "cosine, room left",
        made,
        {"right": "F"},
        issue,
        ("reach into 1 direction no user has",),
    )
    yield from temperatures()


def temperatures() -> Iterator[Row]:
    """Two towers of unit rows whose cosines a softmax divides by a temperature."""
    user, b = FactorModel.from_user_item, 0.4
    p, q, private = unit(drawn(60, 4)), unit(drawn(50, 4, 1)), unit(drawn(50, 3, 2))
    # Both models have the same probabilities: the second one at √b times the
    # temperature, because its cosines between the sides are √b times as large.
    wide = np.hstack([p, np.zeros((60, 3))])
    towers = {
        "": (p, q),
        ", items with directions of their own": (
            wide,
            np.hstack([np.sqrt(b) * q, np.sqrt(1 - b) * private]),
        ),
    }
    convention = (
        "they fix the order of the items for each user, but neither the level of "
        "those cosines nor item-item cosines",
    )
    exact = ("part of what the model predicts",)
    for name, (left, right) in towers.items():
        for word in ("clip", "siglip", "infonce", "two-tower-cosine", "temperature"):
            yield Row(
                f"{word}{name}",
                user(left, right, objective=word),
                FREE,
                {"EMB103": "tip"},
                convention,
                exact,
                answer=CONVENTION,
            )
        yield Row(
            f"clip, one side{name}",
            FactorModel.from_vectors(right).replace(objective="clip", link="cosine"),
            {"right": "F"},
            {"EMB103": "tip"},
            ("whatever the other side holds",),
            exact,
            answer=CONVENTION,
        )
    fixed = "fixed-temperature"
    yield Row(
        "fixed temperature, both sides of full rank",
        user(p, q, objective=fixed),
        {"right": "P", "left": "P"},
        says=exact,
        never=convention,
    )
    yield Row(
        "fixed temperature, items with directions of their own",
        user(*towers[", items with directions of their own"], objective=fixed),
        {"right": "F"},
        {"EMB101": "issue"},
        ("reach into 3 directions no user has",),
        convention,
    )
    # Users on a circle of latitude: a softmax may add one number to all cosines.
    angles = np.arange(9.0)
    circle = np.stack([np.cos(angles), np.sin(angles), np.full(9, 0.5)], axis=1)
    flat = user(unit(drawn(40, 3)), unit(circle), objective=fixed)
    yield Row(
        "fixed temperature, items on a circle",
        flat,
        {"right": "U", "left": "U"},
        {"EMB105": "tip", "EMB204": "tip"},
        ("but not the numbers that a softmax adds to cosines unseen",),
        answer=OPEN,
    )
    # Triangles on a circle are affine images of each other, and these four inputs keep
    # their lengths: tests/canonical/test_temperature.py has the other model.
    third = np.array([[1, 0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
    four = np.sqrt([0.28, 0.72]) * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    with_inputs = user(four, third, objective="arcface")
    alone = FactorModel.from_vectors(third).replace(objective="arcface", link="cosine")
    for name, model, truth in (
        (
            "arcface, three labels in a plane",
            with_inputs,
            {"right": "U", "left": "U"},
        ),
        ("arcface, three labels in a plane alone", alone, {"right": "U"}),
    ):
        yield Row(
            name,
            model,
            truth,
            {"EMB105": "tip"},
            never=exact,
            answer=OPEN,
        )
    yield Row(
        "arcface, both sides of full rank",
        user(p, q, objective="arcface"),
        {"right": "P", "left": "P"},
        says=exact,
        never=convention,
    )
    yield Row(
        "arcface, fifty labels alone",
        FactorModel.from_vectors(q).replace(objective="arcface", link="cosine"),
        {"right": "U"},
        {"EMB105": "tip"},
        whole=False,
        answer=OPEN,
    )
    yield Row(
        "cosines, items on a circle",
        flat.replace(objective="cosine"),
        {"right": "P", "left": "P"},
        {"EMB204": "tip"},
        says=exact,
    )


def classifiers() -> Iterator[Row]:
    """Heads over given inputs, and rankings, as libraries train them."""
    head, axes = FactorModel.from_softmax, np.vstack([np.eye(2), -np.eye(2)])
    # A gauge near the identity, so that cosines are nearly those of the predictions.
    shear = np.array([[1.0, 0.02], [0.0, 1.0]])
    chosen, issue = {"EMB103": "tip"}, {"EMB101": "issue"}
    # Along its axis an input leads by 20, so that it lacks about 20 e⁻²⁰ of its largest
    # score. No labels make this a minimum. An input with two equal scores may have
    # either label, so that some labels could.
    for name, inputs, found, answer, says in (
        ("sure of every input", 20 * axes, issue, "NO", "at no minimum over them"),
        (
            "one input between two labels",
            np.vstack([20 * axes, [[3, 3]]]),
            chosen,
            CONVENTION,
            "rescaling the features changes these cosines",
        ),
    ):
        for link in ("softmax", "sigmoid"):
            # A sigmoid head is sure of the last input, but of no label at right angles
            # to one of the others.
            inputs_seen = (
                inputs if link == "softmax" else inputs @ [[1, 0.5], [-0.5, 1]]
            )
            if link == "sigmoid" and found is chosen:
                inputs_seen = np.vstack([inputs_seen, 1e-9 * np.ones((1, 2))])
                found = chosen | {"EMB205": "tip"}
            yield Row(
                f"without a penalty, {link}, {name}",
                head(
                    axes @ shear,
                    embeddings=inputs_seen @ np.linalg.inv(shear).T,
                    objective="sklearn-logistic-no-penalty",
                    link=link,
                ),
                FREE,
                found,
                (says,),
                answer=answer,
            )
    for word in ("sgd-classifier", "sklearn-logistic-l1"):
        yield Row(
            f"one sigmoid per label, {word}",
            head(centred(8, 2), link="sigmoid", objective=word),
            {"right": "F"},
            chosen,
            ("rescaling the features changes these cosines",),
            answer=CONVENTION,
        )
    ranked = FactorModel.from_user_item(
        drawn(30, 4),
        drawn(40, 4, 1) * [1, 2, 4, 8],
        item_bias=np.linspace(-1, 1, 40),
        link="ranking",
    )
    for word in (None, "bpr"):
        yield Row(
            f"rankings, {word or 'training not known'}",
            ranked.replace(objective=word),
            FREE,
            {"EMB202": "tip", **TWO},
            (),
            ("chose the cosines",),
            whole=False,
        )


def wrong_before() -> Iterator[Row]:
    """Models that audits once judged wrongly, by numbers in the list of faults."""
    p, q, user, head = (
        drawn(9, 2),
        drawn(8, 2, 1),
        FactorModel.from_user_item,
        FactorModel.from_softmax,
    )
    line, turned = user(p[:, :1], q[:, :1]), ("can make two items opposite",)
    signs, here = {"right": "F", "left": "P"}, {"answer": CONVENTION}
    yield Row(
        "1 a user bias on a line",
        line.replace(left_bias=np.zeros(9)),
        signs,
        TWO,
        turned,
        **here,
    )
    yield Row(
        "1 rankings on a line",
        line.replace(link="ranking"),
        {"right": "F", "left": "U"},
        TWO,
        turned,
        whole=False,
        **here,
    )
    biased = line.replace(left_bias=np.zeros(9), right_bias=np.zeros(8))
    yield Row("1 both biases on a line", biased, FREE, TWO, turned, **here)
    wide = user(drawn(30, 16), drawn(30, 16, 1), link="cosine")
    yield Row(
        "2 thirty unit rows",
        wide,
        {"right": "U", "left": "U"},
        {"EMB105": "tip"},
        ("Too few rows: 60 conditions for 136 unknowns",),
    )
    spread = np.r_[np.ones(3), np.full(9, 1e-5)]
    sides = drawn(60, 12) * spread, drawn(50, 12, 1) * spread
    even = user(*map(unit, sides), link="cosine")
    says = ("rows use 3 of 12 dimensions",)
    yield Row(
        "collapsed towers, spread evenly",
        even,
        {"right": "P", "left": "P"},
        {"EMB413": "tip"},
        (*says, "no other model has their predictions"),
    )
    # Drawn to one side, rows leave other models room in dimensions they do not use.
    leaning = user(*(unit(x + 4 * np.eye(12)[0]) for x in sides), link="cosine")
    yield Row(
        "collapsed towers, on one side",
        leaning,
        {"right": "U", "left": "U"},
        {"EMB105": "tip", "EMB413": "tip", "EMB403": "tip"},
        (
            *says,
            "where rows of an equivalent model may hold more",
            "No method here decides it.",
        ),
        ("more items",),
    )
    axes = head(np.vstack([np.eye(3), -np.eye(3)]))
    says = (
        "A change of axes has 9 numbers, and the rows fix 6 of them",
        "0.8 at most",
        "Subtracting the mean row changes no probability here",
    )
    never = (
        "only rotations",
        "part of what the model predicts",
        "that is another head",
    )
    opened = {"right": "F"}
    yield Row(
        "3 six axes",
        axes,
        opened,
        {"EMB101": "issue"},
        says,
        never,
        {"normalised": True},
    )
    sixty = head(drawn(60, 16))
    yield Row(
        "3 sixty labels",
        sixty,
        opened,
        {"EMB101": "issue"},
        (),
        never[:2],
        {"normalised": True},
    )
    bounded = user(p, q, user_bias=np.zeros(9))
    yield Row(
        "4 bounds beside a free bias",
        bounded,
        FREE,
        TWO,
        ("affine gauges within κ = 2 and a shift of",),
    )
    blind = user(p * [1, 0], q)
    yield Row(
        "4 bounds of deficient factors",
        blind,
        FREE,
        {"EMB203": "issue", **TWO},
        ("more than 1 of 2",),
    )
    yield Row(
        "4 bounds of rankings",
        user(p, q, link="ranking"),
        FREE,
        TWO,
        ("its rankings do not",),
        ("every equivalent",),
        whole=False,
    )
    constant = user(
        np.column_stack([p, np.full(9, 3.0)]), drawn(8, 3, 1), item_bias=np.zeros(8)
    )
    says = (
        "Make this component part of the item bias: "
        "add 3 times the component of the items",
    )
    yield Row(
        "5 a direction a bias could absorb",
        constant,
        FREE,
        {"EMB204": "tip", **TWO},
        says,
    )
    square = user(np.eye(4), np.eye(4), link="identity")
    says = ("A linear change of the axes",)
    yield Row(
        "6 axis-aligned rows, diagonal gauges",
        square,
        FREE,
        TWO,
        says,
        options={"groups": ["diagonal"]},
        **here,
    )
    yield Row(
        "6 a tiny budget",
        user(p, q),
        FREE,
        TWO,
        says,
        options={"max_condition": 1.0000005},
    )
    counts, chosen = (
        {"user_counts": np.arange(1, 10), "item_counts": np.arange(2, 10)},
        {"EMB103": "tip"},
    )
    law = user(
        orthonormal(9, 2) / np.sqrt(counts["user_counts"])[:, None],
        orthonormal(8, 2, 1) / np.sqrt(counts["item_counts"])[:, None],
        objective="factors-counted",
    )
    yield Row(
        "8 decay that counts, as it leaves them",
        law.replace(**_sides(counts)),
        FREE,
        chosen,
        **here,
    )
    off = law.replace(left=law.left * [1, 1.5], right=law.right / [1, 1.5])
    found, issue = {**chosen, "EMB104": "tip"}, {**chosen, "EMB104": "issue"}
    yield Row(
        "8 decay that counts, rescaled",
        off.replace(**_sides(counts)),
        FREE,
        found,
        ("by its interactions",),
        **here,
    )
    yield Row(
        "8 the same without counts",
        off,
        FREE,
        chosen,
        never=("would leave them", "would leave other factors"),
        **here,
    )
    copied = {**chosen, "EMB401": "issue"}
    yield Row(
        "8 counted factors, declared plain, whose lists and cosines stay",
        _counted(),
        FREE,
        copied,
        **here,
    )
    stopped = (
        "The penalty was too weak to undo the random start, training stopped early",
    )
    balanced = user(orthonormal(90, 4), orthonormal(80, 4, 1), objective="factors")
    for power, codes, answer in (
        (1.03, chosen, CONVENTION),
        (1.1, found, CONVENTION),
        (2.0, issue, "NO"),
    ):
        axes = power ** np.array([0, 1, 2, 3])
        rescaled = balanced.replace(
            left=balanced.left * axes, right=balanced.right / axes
        )
        never = (
            ("chose the cosines", *stopped * (answer != CONVENTION))
            if "EMB104" in codes
            else stopped
        )
        name = f"8 a penalty that would have stretched axes by {power}"
        yield Row(
            name,
            rescaled,
            FREE,
            codes,
            stopped * (codes is found),
            never,
            answer=answer,
        )
    yield Row(
        "9 inputs without a constant",
        head(centred(8, 2), objective="logistic"),
        opened,
        chosen,
        ("a constant",),
        **here,
    )
    for stretch, codes in ((1.09, chosen), (1.5, found)):
        near = user(
            orthonormal(9, 2) * [1, stretch], orthonormal(8, 2, 1) / [1, stretch]
        )
        yield Row(
            f"10 factors {stretch} from balance",
            near.replace(objective="factors"),
            FREE,
            codes,
            **here,
        )
    edge = np.array([[1.0, 0], [-0.5, 0.8], [-0.5, -0.8], [-0.5, 1e-9]]) - [-0.125, 0]
    says = ("more than 1e-06 of the spread",)
    yield Row(
        "11 a label at the edge",
        head(edge),
        opened,
        {"EMB304": "tip", **TWO},
        says,
        options={"hull": True},
        answer=CONVENTION,
    )
    yield Row(
        "11 a label at the edge that nobody asked about",
        head(edge),
        opened,
        TWO,
        never=says,
        answer=CONVENTION,
    )
    few = head(centred(4, 6), embeddings=drawn(20, 6, 1))
    # Four centred labels span three dimensions of six.
    says = (
        "4 labels cannot span",
        "The numbers of inputs in the other dimensions are arbitrary",
    )
    yield Row(
        "12 fewer labels than features that were learned",
        few.replace(objective="softmax-decay"),
        FREE,
        {**chosen, "EMB203": "issue"},
        says,
        **here,
    )
    # Inputs that training did not learn are data: nothing in them is arbitrary.
    data = "Training did not learn these inputs: they are data"
    given = few.replace(objective="logistic")
    yield Row(
        "12 fewer labels than given features",
        given,
        FREE,
        chosen,
        (data,),
        says,
        **here,
    )
    yield Row(
        "12 cosines of given features",
        given,
        FREE,
        chosen,
        (data,),
        says,
        {"role": "left"},
        CHECK,
    )
    made = FactorModel.from_vectors(q).replace(objective="prediction")
    yield Row(
        "12 prediction vectors",
        made,
        {"right": "P"},
        {},
        ("cosines of those predictions",),
        answer="YES",
    )
    yield Row(
        "14 heads are counted",
        head(centred(8, 2)),
        opened,
        TWO,
        ("9 equivalent models kept",),
        answer=CONVENTION,
    )


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def unused_columns() -> Iterator[Row]:
    """Unit rows in two of five columns, and with 1e-5 of their length in the others.

    Columns that are zero, also before a rotation, give no room to models of the same
    rank. Columns that hold a little may hold more in an equivalent model.
    """
    rotation = orthonormal(5, 5)
    lean = np.array([4.0, 0.0])
    for size, name in ((0, "no part"), (1e-5, "a small part")):
        sides = [
            unit(np.hstack([rows + lean, size * drawn(8, 3, 9)]) @ rotation)
            for rows in (drawn(8, 2), drawn(8, 2, 1))
        ]
        towers = FactorModel.from_user_item(*sides, link="cosine")
        labels = unit(np.hstack([drawn(8, 2), size * drawn(8, 3, 9)]) @ rotation)
        head = FactorModel.from_softmax(labels)
        if size == 0:
            yield Row(
                f"turned towers with {name} in three columns",
                towers,
                {"right": "P", "left": "P"},
                says=("equivalent models of the same rank",),
            )
            yield Row(
                f"turned unit labels with {name} in three columns",
                head,
                {"right": "P"},
                {},
                ("whose labels span no more dimensions",),
                options={"normalised": True},
            )
        else:
            yield Row(
                f"turned towers with {name} in three columns",
                towers,
                {"right": "U", "left": "U"},
                {"EMB105": "tip"},
                ("use 2 of 5 dimensions", "No method here decides it."),
            )
            yield Row(
                f"turned unit labels with {name} in three columns",
                head,
                {"right": "F"},
                {"EMB101": "issue"},
                options={"normalised": True},
            )


def compared() -> Iterator[Row]:
    """One table whose rows were compared with each other, and unit rows of which nobody
    said what was trained.
    """
    pinned, never = (
        {"right": "P"},
        ("Only items were loaded", "multiplied with", "probe rows"),
    )
    tables = {
        "rows in general position": (drawn(40, 4), {}),
        "rows of length 1": (unit(drawn(40, 4)), {}),
        "fewer rows than dimensions": (drawn(3, 5), {}),
        "a column of zeros": (drawn(20, 4) * [1, 1, 1, 0], {}),
        "collapsed axes": (drawn(20, 4) * [1, 1e-3, 1e-6, 1e-9], {}),
        "rows of float32": (drawn(20, 4).astype(np.float32), {}),
        "a row of zeros": (np.vstack([drawn(20, 4), np.zeros(4)]), {"EMB201": "tip"}),
        "every row twice": (np.tile(drawn(20, 4), (2, 1)), {"EMB401": "issue"}),
        "rows that share a direction": (drawn(60, 8) + 3, {"EMB403": "tip"}),
    }
    for how, (name, (rows, found)) in product(("dot", "cosine"), tables.items()):
        level = (
            "a convention of this model",
            "Levels (such as 0.80) are fixed only "
            "if no temperature divided the cosines",
        )
        says, unsaid = (
            (("products of these rows",), level[1:]) if how == "dot" else (level, ())
        )
        table = FactorModel.from_vectors(rows, compared=how)
        n, k = rows.shape
        if how == "dot" and n <= k:
            # Other lengths can have the same products of different rows.
            yield Row(
                f"compared by {how}: {name}",
                table,
                {"right": "U"},
                found | {"EMB105": "tip"},
                ("rows of other lengths can have the same products",),
                ("who is nearest is fixed",),
                answer=OPEN,
            )
            continue
        says = (*says, "who is nearest is fixed", "never compare cosines of two models")
        yield Row(
            f"compared by {how}: {name}", table, pinned, found, says, never + unsaid
        )
    # Tables with equal products of different rows, in which the first row has another
    # nearest row; and enough rows, whose products fix the lengths.
    shared = np.full((3, 3), 1.0)
    for name, squares in (("second", [3, 2, 9]), ("third", [3, 9, 2])):
        gram = shared + np.diag(np.subtract(squares, 1.0))
        yield Row(
            f"compared by dot: three rows, the {name} nearest to the first",
            FactorModel.from_vectors(np.linalg.cholesky(gram), compared="dot"),
            {"right": "U"},
            {"EMB105": "tip"},
            ("more items of the same model would decide it",),
            answer=OPEN,
        )
    # A softmax does not show the constant that a further column adds to all products.
    for name, rows in (
        ("", drawn(40, 4)),
        (" and a constant", np.hstack([drawn(40, 4), np.ones((40, 1))])),
    ):
        yield Row(
            f"dpr: rows{name}",
            FactorModel.from_vectors(rows, compared="dot").replace(objective="dpr"),
            {"right": "U"},
            {"EMB105": "tip", **({"EMB407": "tip"} if name else {})},
            ("do not show a constant that is added to every product",),
            ("who is nearest is fixed",),
            answer=OPEN,
        )
    spectrum = np.sqrt(1 / np.arange(1.0, 25))
    one_space = drawn(400, 24) * spectrum
    turned = np.vstack([one_space[:160], one_space[160:] @ orthonormal(24, 24)])
    # The variances of the first half decay; those of the second half are largest in the
    # first and in the last directions, so that both halves have alignment 1.
    variances = np.square(spectrum)
    excess = variances - variances.mean()
    against = -float(excess @ excess[::-1]) / float(excess @ excess)
    other = np.sqrt((against * variances + variances[::-1]) / (1 + against))
    early, late = drawn(800, 24, 1) * spectrum, drawn(800, 24, 2) * other
    yield Row(
        "one space: parts that complement each other",
        FactorModel.from_vectors(np.vstack([early, late]), compared="cosine"),
        pinned,
        never=("one coordinate system",),
    )
    yield Row(
        "two spaces: turned parts that complemented each other",
        FactorModel.from_vectors(
            np.vstack([early, late @ orthonormal(24, 24)]), compared="cosine"
        ),
        pinned,
        {"EMB411": "issue"},
        ("do not share one coordinate system",),
        answer=CHECK,
    )
    for how in ("dot", "cosine"):
        yield Row(
            f"compared by {how}: one space",
            FactorModel.from_vectors(one_space, compared=how),
            pinned,
            never=("one coordinate system",),
        )
        yield Row(
            f"compared by {how}: two spaces",
            FactorModel.from_vectors(turned, compared=how),
            pinned,
            {"EMB411": "issue"},
            ("do not share one coordinate system",),
            answer=CHECK,
        )
    user = FactorModel.from_user_item
    says = (
        "nobody said which was trained",
        "`--objective cosine`",
        "`--link identity`",
    )
    for n in (7, 40):
        made = user(unit(drawn(n, 3)), unit(drawn(n - 1, 3, 1)))
        yield Row(
            f"unit rows of an unknown link, {n} users",
            made,
            {"right": "U"},
            {"EMB105": "tip"},
            says,
        )
        declared = {"EMB102": "tip"} if n > 7 else TWO
        yield Row(
            f"unit rows, dot products, {n} users",
            made.replace(link="identity"),
            FREE,
            declared,
            never=says[:1],
        )
        fixed = {"right": "P", "left": "P"}
        yield Row(
            f"unit rows, cosines, {n} users",
            made.replace(link="cosine"),
            fixed,
            {},
            never=says[:1],
        )
    # On a line cosines are signs. Dot products fix them, but a temperature does not.
    line = user([[1.0], [-1], [1], [-1]], [[1.0], [-1], [1], [1], [-1]])
    undecided = {"right": "U", "left": "U"}
    open_dots = ("Dot products leave",)
    signs = ("cosines are signs, which dot products and cosines fix",)
    yield Row(
        "unit rows of an unknown link on a line",
        line,
        undecided,
        {"EMB105": "tip"},
        (*signs, *says),
        open_dots,
    )
    yield Row(
        "unit rows, dot products, on a line",
        line.replace(link="identity"),
        fixed,
        never=signs,
    )
    yield from unused_columns()
    few = FactorModel.from_vectors(unit(drawn(9, 4))).replace(link="cosine")
    says, tip = (
        ("too few rows: 9 conditions for 10 unknowns", "1 more item would decide it"),
        {"EMB105": "tip"},
    )
    yield Row(
        "nine unit rows fix nine of ten",
        few,
        {"right": "U"},
        tip,
        says,
        ("tries no proof",),
        whole=False,
    )
    wide = FactorModel.from_vectors(unit(drawn(9, 512))).replace(link="cosine")
    yield Row(
        "nine unit rows of 512 columns",
        wide,
        {"right": "U"},
        tip,
        (
            "9 conditions for 45 unknowns",
            "if they span no more than these 9 dimensions",
        ),
        ("tries no proof",),
        whole=False,
    )
    long = FactorModel.from_vectors(unit(drawn(131, 130))).replace(link="cosine")
    says = ("a change of axes has 8,515 numbers here", "tries no proof above 8,400")
    yield Row(
        "rows too long for a proof",
        long,
        {"right": "U"},
        tip,
        says,
        ("more items",),
        whole=False,
    )
    thin = FactorModel.from_softmax(centred(60, 40))
    yield Row(
        "fewer than two labels a dimension",
        thin,
        {"right": "F"},
        {"EMB303": "tip", **TWO},
        answer=CONVENTION,
    )


def by_distance() -> Iterator[Row]:
    """Tables whose rows were compared by distance, which fixes no cosine, and rows of
    hardly any length.
    """
    alone, issue = {"right": "F"}, {"EMB101": "issue"}
    rows, small = drawn(40, 4), unit(drawn(40, 4)) * np.linspace(0.1, 0.9, 40)[:, None]
    vectors = FactorModel.from_vectors
    never = ("Only items were loaded", "multiplied with", "change of the axes", "YES")
    says = (
        "distances do not depend on the origin",
        "Rank by Euclidean distance",
        "rank items by distance",
    )
    unit_rows = "so declare `--compared cosine`"
    shifted = "One vector added to every item row changes no distance"
    for name, table in (
        ("rows", vectors(rows, compared="distance")),
        ("rows off the origin", vectors(rows + 3, compared="distance")),
        ("rows on a line", vectors(rows[:, :1], compared="distance")),
        ("rows of float32", vectors(rows.astype("f4"), compared="distance")),
        ("transe", with_objective(vectors(rows), "transe")),
    ):
        found = issue | ({"EMB403": "tip"} if name == "rows off the origin" else {})
        yield Row(
            f"e {name} by distance",
            table,
            alone,
            found,
            (*says, shifted),
            (*never, unit_rows),
        )
    yield Row(
        "e rows of length 1 by distance",
        vectors(unit(rows), compared="distance"),
        alone,
        issue,
        (unit_rows, shifted),
        never,
    )
    yield Row(
        "e rows that are equal, by distance",
        vectors(np.ones((5, 2)), compared="distance"),
        {"right": "U"},
        {"EMB105": "tip", "EMB407": "tip"},
        ("every distance is 0",),
        whole=False,
    )
    for name, table in (
        ("rows", vectors(small, compared="hyperbolic")),
        ("poincare", with_objective(vectors(small), "poincare")),
    ):
        yield Row(
            f"e {name} by hyperbolic distance",
            table,
            alone,
            issue,
            ("An isometry of hyperbolic space", "Rank by hyperbolic distance"),
            (*never, shifted, "Euclidean"),
        )
    tiny = rows * np.where(np.arange(40) == 7, 1e-8, 1.0)[:, None]
    yield Row(
        "e a row of hardly any length",
        vectors(tiny),
        alone,
        {"EMB205": "tip", **TWO},
        ("1 of 40 items is much shorter than the others: item 7",),
        answer=OPEN,
    )
    yield Row(
        "e a short row",
        vectors(rows * np.where(np.arange(40) == 7, 1e-5, 1.0)[:, None]),
        alone,
        TWO,
        (),
        ("much shorter",),
        answer=OPEN,
    )


def nearly_alike() -> Iterator[Row]:
    """Tables a part of whose rows is far closer to another row than usual, and tables
    of which none is.

    If 20 of 100 rows have a copy with noise, 40 of 120 rows are near another one. Lists
    hold one row of each group of copies: of 120 rows with 20 copies only 100 are
    listed. Rows with noise are no copies, so all 120 are listed.
    """
    once = "duplicates counted once"
    alone, rows, noise = {"right": "F"}, drawn(100, 16), drawn(20, 16, 1)
    vectors, near = FactorModel.from_vectors, {"EMB414": "tip", **TWO}
    says = ("40 of 120 items are near-duplicates of another item", "item 0")
    for name, size in (("rows", 1.0), ("tiny rows", 1e-30), ("huge rows", 1e30)):
        table = size * np.vstack([rows, rows[:20] + 1e-4 * noise])
        yield Row(
            f"f {name} with noisy copies",
            vectors(table),
            alone,
            near,
            (*says, "the 10 nearest of 120 items"),
            (once,),
            answer=OPEN,
        )
    head = FactorModel.from_softmax(centred(60, 16))
    hardly = np.vstack([head.right, head.right[:1] + 1e-5 * drawn(20, 16, 1)])
    yield Row(
        "f tokens that training hardly touched",
        FactorModel.from_softmax(hardly - hardly.mean(axis=0)),
        alone,
        near,
        ("21 of 80 labels are near-duplicates", "unused tokens"),
        answer=CONVENTION,
    )
    quiet = {
        "no copies": (rows, {}),
        "copies without noise": (
            np.vstack([rows, rows[:20]]),
            {"EMB401": "issue"},
        ),
        "copies with much noise": (np.vstack([rows, rows[:20] + 0.1 * noise]), {}),
        "two copies with noise": (np.vstack([rows, rows[:2] + 1e-4 * noise[:2]]), {}),
        "crowded rows": (rows + 1e4, {"EMB403": "tip", "EMB413": "tip"}),
        "a smooth density of four dimensions": (drawn(4000, 4), {}),
        "a smooth density of two dimensions": (drawn(3000, 2), {}),
    }
    for name, (table, found) in quiet.items():
        never: tuple[str, ...] = ("near-duplicate",)
        if "EMB401" not in found:
            never = ("near-duplicate", once)
        yield Row(
            f"f {name}",
            vectors(table),
            alone,
            {**found, **TWO},
            never=never,
            answer=OPEN,
        )
    # Rounding to float16 parts copies: twice the length has another rounding error than
    # a third of the length.
    rounded = np.vstack([rows, rows[:20] / 3]).astype(np.float16)
    for name, table in (
        ("copies that lists count once", np.vstack([rows, rows[:20]])),
        ("copies of another length", np.vstack([rows, 2 * rows[:20]])),
        ("copies but for the rounding to float16", rounded),
    ):
        yield Row(
            f"f {name}",
            vectors(table),
            alone,
            {"EMB401": "issue", **TWO},
            (f"the 10 nearest of 100 items, {once}",),
            ("near-duplicate", "nearest of 120"),
            answer=OPEN,
        )
    # A gauge that was searched for moves lists of one item of each group.
    p, q = drawn(40, 4), drawn(30, 4, 1)
    searched = {"groups": ("linear",)}
    yield Row(
        "4 lists of items with copies",
        FactorModel.from_user_item(p, np.vstack([q, q[:10]])),
        FREE,
        {"EMB401": "issue", **TWO},
        (f"listed neighbours of items, {once}",),
        options=searched,
    )
    yield Row(
        "4 lists of items without copies",
        FactorModel.from_user_item(p, q),
        FREE,
        TWO,
        ("listed neighbours of items",),
        (once,),
        options=searched,
    )
    # Copies among users say nothing of lists of items.
    yield Row(
        "4 copies among users only",
        FactorModel.from_user_item(np.vstack([p, p[:10]]), q),
        FREE,
        {"EMB401": "issue", **TWO},
        ("listed neighbours of items",),
        (f"items, {once}",),
        options=searched,
    )


def answered() -> Iterator[Row]:
    """Models for rows of the table of answers that no other model reaches."""
    user, strengths = FactorModel.from_user_item, np.array([4.0, 2.0, 1.0, 0.5])
    p, q = orthonormal(90, 4), orthonormal(80, 4, 1)
    balanced = user(p * np.sqrt(strengths), q * np.sqrt(strengths), objective="factors")
    says = ("chose the cosines", "stay when items are compared by their predictions")
    yield Row(
        "balanced by its penalty, other lists predicted",
        balanced,
        FREE,
        {"EMB103": "tip"},
        says,
        answer=CONVENTION,
    )
    near = user(p * [1, 1.01, 1, 1.01], q * strengths)
    yield Row(
        "nearly the cosines of predictions",
        near,
        FREE,
        TWO,
        ("nearly are the cosines",),
        answer=CONVENTION,
    )
    capped = FactorModel.from_softmax(centred(40, 4)).replace(
        link=softmax_link(soft_cap=30.0)
    )
    says, opened = (
        ("does not hold, would decide between BY CONVENTION and NO",),
        {"right": "F"},
    )
    yield Row(
        "a capped head alone",
        capped,
        opened,
        {"EMB305": "tip", **TWO},
        says,
        answer=OPEN,
        whole=False,
    )


def rows_alike() -> Iterator[Row]:
    """What rows are like, whatever they predict; each trait with a model just short of
    it.
    """
    user, vectors, alone = (
        FactorModel.from_user_item,
        FactorModel.from_vectors,
        {"right": "F"},
    )
    x, axis = drawn(200, 20, 1), np.eye(20)[0]
    shares = {"EMB403": "tip"}
    yield Row(
        "t items share a direction",
        user(drawn(30, 20), x + 5 * axis),
        FREE,
        {**shares, **TWO},
        ("adds a number to all scores of each user",),
        ("changes no score, so either",),
    )
    biased = user(drawn(30, 20), x + 1.1, user_bias=np.zeros(30))
    yield Row(
        "t the same, a user bias",
        biased,
        FREE,
        {**shares, **TWO},
        ("changes no score, so lists with and without it are equally good",),
    )
    for many, how in ((10, "issue"), (9, "tip")):
        zeros = x * (np.arange(200) >= many)[:, None]
        says = (f"{many} of 200 items are zero vectors, which have no cosine",)
        yield Row(
            f"t {many} rows of zeros",
            user(drawn(30, 20), zeros),
            FREE,
            {"EMB201": how, **TWO},
            says,
        )
    yield Row(
        "t a weaker direction",
        user(drawn(30, 20), x + 0.9),
        FREE,
        TWO,
        never=("so a high cosine says less",),
    )
    says, never = ("makes other vectors",), ("to all scores",)
    yield Row(
        "t vectors share a direction",
        vectors(x + 1.1),
        alone,
        {**shares, **TWO},
        says,
        never,
        answer=OPEN,
    )
    crowded = drawn(200, 60, 1) + 0.9
    yield Row(
        "t vectors without hubs",
        vectors(crowded),
        alone,
        TWO,
        never=("of 200 fill",),
        answer=OPEN,
    )
    hubs = np.where(
        np.isin(np.arange(200), (5, 6))[:, None], 0.9 + 0.01 * crowded, crowded
    )
    found = {"EMB404": "tip", **TWO}
    yield Row(
        "t two hubs", vectors(hubs), alone, found, ("2 items of 200 fill",), answer=OPEN
    )
    constant = np.column_stack([x[:, 1:], np.full(200, 0.5)])
    says = ("Column 19 is 0.5 in every row",)
    yield Row(
        "t a constant column alone",
        vectors(constant),
        alone,
        {"EMB407": "tip", **TWO},
        says,
        answer=OPEN,
    )
    yield Row(
        "t a column that varies",
        vectors(constant + 1e-6 * axis[::-1] * np.arange(200)[:, None]),
        alone,
        TWO,
        answer=OPEN,
    )


def scores_a_little_off() -> Iterator[Row]:
    """Models whose neighbours stay, or can be lost, if scores are a little off.

    Users have orthonormal columns, so the prediction cosines are those of the items as
    they are.
    """
    users = orthonormal(6, 2)

    def of_angles(angles: list[float]) -> FactorModel:
        items = np.column_stack([np.cos(angles), np.sin(angles)])
        return FactorModel.from_user_item(users * 3, items * 2, link="identity")

    # At a tolerance of 0.1 the lead must be above 0.401 radians. Standard errors are of
    # the order 0.01 / 6.
    off = {"n_neighbours": 1, "tolerance": 0.1, "noise": 0.01}
    yield Row(
        "scores a little off, neighbours far ahead",
        of_angles([0.0, 0.05, 1.0, 1.06, 2.0, 2.07]),
        FREE,
        TWO,
        (
            "100 % of the 1 nearest are certain to stay",
            "100 % of the 1 nearest are stable",
        ),
        options=off,
        answer=CONVENTION,
    )
    # Each item lies as far from the next one as from the one before, but for 1e-4.
    steps = 0.2 + 1e-4 * np.arange(8)
    yield Row(
        "scores a little off, neighbours hardly ahead",
        of_angles([0.0, *np.cumsum(steps[:7])]),
        FREE,
        TWO,
        ("0 % of the 1 nearest are certain to stay",),
        ("100 % of the 1 nearest are stable",),
        options=off,
        answer=CONVENTION,
    )


def norms() -> Iterator[Row]:
    """Heads behind a final norm; by construction folding gives 2 of 40 labels, and 2 of
    42, another nearest one.
    """
    alone, turns = {"right": "F"}, {"EMB307": "issue", **TWO}
    head, gains = (
        FactorModel.from_softmax(centred(40, 5)),
        np.array([1.0, 5.0, 0.5, 2.0, 1.0]),
    )
    says = (
        "The gains of the final RMSNorm, which differ by a factor of up to 10, "
        "can be applied",
        "folding in the norm keeps",
    )
    options = {"final_norm": FinalNorm("rms", gains)}
    yield Row(
        "n gains decide",
        head,
        alone,
        turns,
        says,
        ("along the ones vector",),
        options,
        "NO",
    )
    says = (
        "So if any multiple of the vector of ones is added to a folded row",
        "final LayerNorm, which differ by a factor of up to 10, can be applied",
    )
    yield Row(
        "n behind a LayerNorm",
        head,
        alone,
        turns,
        says,
        (),
        {"final_norm": FinalNorm("layer", gains)},
        "NO",
    )
    never = ("folding in the norm keeps", "along the ones vector")
    options = {"final_norm": FinalNorm("rms", 1 + 1e-6 * gains)}
    yield Row(
        "n gains hardly differ",
        head,
        alone,
        TWO,
        ("Then 100 % of the labels keep their nearest label",),
        never,
        options,
        CONVENTION,
    )
    options = {"final_norm": FinalNorm("rms", np.full(5, 3.0))}
    yield Row(
        "n equal gains",
        head,
        alone,
        TWO,
        (),
        ("change no logit", *never),
        options,
        CONVENTION,
    )
    # Two labels are a handful, whether they are 5 % of all labels or slightly less.
    for name, n_others in {
        "n 2 of 40 labels turn, a handful": 15,
        "n 2 of 42 labels turn": 16,
    }.items():
        yield Row(
            name,
            _turning(n_others),
            alone,
            TWO,
            says=("Then 95 % of the labels keep their nearest label",),
            never=("folding in the norm keeps",),
            options={"final_norm": FinalNorm("rms", [1.0, 1.0, 3.0])},
            answer=CONVENTION,
        )


def tied_heads() -> Iterator[Row]:
    """Heads that are also the input embeddings, that may be, and that are not.

    Without its mean row (1, 1, ..., 1) the head is another one, and the tied network
    has other inputs, too; nothing about the head alone tells whether it is tied.
    """
    alone, stretch = {"right": "F"}, np.array([1.0, 5.0, 0.5, 2.0, 1.0])
    shares = Tying("tied", "wte.weight", "the checkpoint holds no other head")
    off_mean = FactorModel.from_softmax(centred(40, 5) + 1)
    issue, gains = {"EMB301": "issue", **TWO}, {"EMB307": "issue", **TWO}
    own_table = "needs a separate table"
    separated = "(if the head gets a table separate from the input embeddings)"
    yield Row(
        "d a tied head off its mean",
        off_mean.replace(tying=shares),
        alone,
        issue,
        (own_table, separated, "(the checkpoint holds no other head)"),
    )
    yield Row(
        "d the same head with a table of its own",
        off_mean,
        alone,
        issue,
        never=("separate table",),
    )
    yield Row(
        "d a head that may be tied",
        off_mean.replace(tying=Tying("unknown")),
        alone,
        issue,
        (
            own_table,
            "If it is, an equivalent model",
            "does not say if the head is also",
        ),
        (separated, "The head is also the input embeddings"),
    )
    yield Row(
        "d two tables that a configuration ties",
        off_mean.replace(tying=Tying("contradicted", "wte.weight")),
        alone,
        issue,
        (
            "two tables that differ",
            "`--weight wte.weight --kind head` audits the input embeddings",
        ),
        ("separate table",),
    )
    centre = FactorModel.from_softmax(centred(40, 5)).replace(tying=shares)
    yield Row(
        "d a tied head at its mean", centre, alone, TWO, (own_table,), answer=CONVENTION
    )
    yield Row(
        "d a tied head whose gains decide",
        centre,
        alone,
        gains,
        (own_table, separated),
        options={"final_norm": FinalNorm("rms", stretch)},
    )


def _turning(others: int) -> FactorModel:
    """One label that a stretch of the last axis brings to another one, four and others
    that it does not, and mirrored.

    Its nearest is 0.16 away on that axis, the next 0.2 away on another; both have one
    0.02 away in their direction.
    """
    away = [
        (1.0, np.tan(0.2), 0.0),
        (1.0, np.tan(0.22), 0.0),
        (1.0, 0.0, np.tan(0.16)),
        (1.0, 0.0, np.tan(0.18)),
    ]
    angles = (
        0.6
        + 0.3 * (np.arange(others) // 2).clip(max=(others - 2) // 2)
        + 0.02 * (np.arange(others) % 2)
    )
    angles[others // 2 * 2 :] += 0.04
    rest = np.column_stack([np.cos(angles), np.sin(angles), 0 * angles])
    rows = np.vstack([(1.0, 0.0, 0.0), *away, rest])
    return FactorModel.from_softmax(np.vstack([rows, -rows]))


def _counted() -> FactorModel:
    """Factors with equal Gram matrices weighted by 1 and 16 interactions of users, 4 of
    items; κ = 16^¼ as they are.
    """
    axes = np.array([[1.0, 0], [0, 1.0], [-1.0, 0], [0, -1.0]] * 2) / 2
    users = axes / np.where(axes[:, :1] != 0, 1, 4)
    return FactorModel.from_user_item(users, axes / 2, objective="factors")


def _sides(counts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"left_counts": counts["user_counts"], "right_counts": counts["item_counts"]}


def indexed() -> Iterator[Row]:
    """An index that compares by the measure of the training or by another one.

    Items of one length without a bias are ranked alike by cosine, product and distance.
    Of items of different lengths the long ones win by product, and the short ones by
    distance.
    """
    users, items = drawn(40, 3), unit(drawn(40, 3, 1))
    lengths = np.exp(np.linspace(-2, 2, 40))[:, None]
    two, one = FactorModel.from_arrays, FactorModel.from_vectors
    issue = {"EMB501": "issue"}
    names = {"cosine": "cosine", "dot": "inner product", "l2": "Euclidean distance"}
    for served, name in names.items():
        is_trained = served == "dot"
        yield Row(
            f"served by {name}: items of length 1",
            two(users, items, link="identity"),
            FREE,
            TWO,
            ("top 10 stays", "rank them alike"),
            ("unlike the model", "items are shown"),
            {"served": served},
        )
        yield Row(
            f"served by {name}: items of different lengths",
            two(users, items * lengths, link="identity"),
            FREE,
            TWO if is_trained else TWO | issue,
            (f"Your index compares by {name}",),
            ("unlike the model",) if is_trained else ("top 10 stays",),
            {"served": served},
        )
    yield Row(
        "served by product: trained on cosines",
        two(users, items * lengths, link="cosine"),
        {"right": "P", "left": "P"},
        issue,
        ("the model was trained on cosines", "divide the item vectors by their"),
        options={"served": "dot"},
    )
    yield Row(
        "served by cosine: trained on cosines",
        two(users, items * lengths, link="cosine"),
        {"right": "P", "left": "P"},
        says=("all of each user's top 10 stays",),
        options={"served": "cosine"},
    )
    # The bias is larger than any product, so it alone decides what is listed.
    bias = np.linspace(-90, 90, 40)
    yield Row(
        "served by product: the index lacks the bias",
        two(users, items, link="identity", right_bias=bias),
        FREE,
        TWO | issue | {"EMB202": "tip"},
        ("lacks the item bias", "hold the item bias"),
        ("unlike the model",),
        {"served": "dot"},
    )
    yield Row(
        "served by product: a bias of no item",
        two(users, items, link="identity", right_bias=np.full(40, 3.0)),
        FREE,
        TWO,
        ("all of each user's top 10 stays",),
        ("lacks the item bias",),
        {"served": "dot"},
    )
    for how, served in (("dot", "cosine"), ("cosine", "l2")):
        yield Row(
            f"served by {served}: rows compared by {how}",
            one(items * lengths, compared=how),
            {"right": "P"},
            issue,
            (f"the model was trained on {'dot product' if how == 'dot' else how}s",),
            options={"served": served},
        )
    yield Row(
        "served by distance: rows compared by distance",
        one(items * lengths, compared="distance"),
        {"right": "F"},
        {"EMB101": "issue"},
        ("all of each item's top 10 stays",),
        options={"served": "l2"},
    )
    yield Row(
        "served by product: one table alone",
        one(items * lengths),
        {"right": "F"},
        TWO | {"EMB501": "tip"},
        ("not by the cosine that this audit is about", "are their own best match"),
        NEVER_ALONE,
        {"served": "dot"},
        answer=OPEN,
    )
    yield Row(
        "served by product: one table of rows of length 1",
        one(items),
        {"right": "F"},
        TWO | {"EMB409": "tip"},
        ("rank them alike",),
        ("not by the cosine that this audit is about",),
        {"served": "dot"},
        answer=OPEN,
    )


def searched() -> Iterator[Row]:
    """Queries that find all items alike, or that miss some items or are far from all.

    By cosine items of a circle are equally popular for queries of the circle.
    """
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    turns = np.random.default_rng(0).uniform(0, 2 * np.pi, 1_500)
    around = np.column_stack([np.cos(turns), np.sin(turns)])
    vectors = FactorModel.from_vectors
    yield Row(
        "queries find all items alike",
        vectors(circle, compared="cosine"),
        {"right": "P"},
        {},
        ("Each of 300 items is in the top 10 of some query",),
        ("nobody finds", "far from all", "fill"),
        {"queries": around},
    )
    yield Row(
        "too few queries to miss an item",
        vectors(circle, compared="cosine"),
        {"right": "P"},
        {},
        ("too few queries to say which items nobody finds",),
        ("no query finds", "fill"),
        {"queries": around[:40]},
    )
    # Short items lie inside of the others, so by product other items are better.
    short = np.where(np.arange(300) % 10 == 0, 0.1, 1.0)[:, None]
    yield Row(
        "queries miss short items by product",
        vectors(circle * short, compared="dot"),
        {"right": "P"},
        {"EMB503": "tip"},
        (
            "no query finds 10 % of the items",
            "proven",
            "compare with `--served cosine`",
        ),
        ("far from all",),
        {"queries": around},
    )
    yield Row(
        "queries find short items by cosine",
        vectors(circle * short, compared="cosine"),
        {"right": "P"},
        says=("Each of 300 items is in the top 10 of some query",),
        never=("no query finds",),
        options={"queries": around},
    )
    long = np.ones((300, 1))
    long[[7, 107, 207]] = 50.0
    yield Row(
        "long items fill the lists of queries by product",
        vectors(circle * long, compared="dot"),
        {"right": "P"},
        {"EMB502": "tip"},
        ("3 items of 300 fill", "long vectors are hubs"),
        options={"queries": around[:60]},
    )
    subjects = drawn(12, 16)
    items = np.repeat(subjects, 20, axis=0) + 0.5 * drawn(240, 16, 1)
    asked = np.repeat(subjects, 25, axis=0) + 0.5 * drawn(300, 16, 2)
    yield Row(
        "queries about the subjects of items",
        vectors(items, compared="cosine"),
        {"right": "P"},
        never=("far from all items: ", "do not fit"),
        options={"queries": asked},
    )
    others = asked.copy()
    others[::30] = 3 * drawn(10, 16, 3) - items.mean(axis=0)
    yield Row(
        "some queries are far from all items",
        vectors(items, compared="cosine"),
        {"right": "P"},
        {"EMB504": "tip"},
        ("of the queries are far from all items",),
        ("do not fit",),
        {"queries": others},
    )
    yield Row(
        "queries of another model",
        vectors(items, compared="cosine"),
        {"right": "P"},
        {"EMB503": "tip", "EMB504": "tip"},
        ("the queries do not fit these items",),
        options={"queries": asked @ orthonormal(16, 16, 4)},
    )


TABLE = {
    row.name: row
    for part in (
        grid,
        deficient,
        shapes,
        objectives,
        classifiers,
        wrong_before,
        compared,
        by_distance,
        nearly_alike,
        answered,
        rows_alike,
        scores_a_little_off,
        norms,
        tied_heads,
        indexed,
        searched,
    )
    for row in part()
}
