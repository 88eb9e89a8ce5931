"""Live models: stand-ins with each library's attributes, and scikit-learn's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from imitations import Tensor, imitation
from scipy.sparse import csr_matrix

from embaudit import FactorModel, Link
from embaudit.errors import InputError
from embaudit.io import from_object

DRAW = np.random.default_rng(7)
USERS, ITEMS, A, B = (
    DRAW.normal(size=(6, 3)),
    DRAW.normal(size=(8, 3)),
    DRAW.normal(size=6),
    DRAW.normal(size=8),
)


def embedding(array: Any) -> SimpleNamespace:
    return SimpleNamespace(weight=Tensor(array))


def scores(bias: bool = True, offset: float = 0.0) -> Any:
    return USERS @ ITEMS.T + (A[:, None] + B if bias else 0) + offset


def check(model: FactorModel, expected: Any) -> None:
    np.testing.assert_allclose(model.scores(), expected, rtol=1e-10, atol=1e-10)


ALS = (
    "implicit.cpu.als.AlternatingLeastSquares",
    "implicit.cpu.matrix_factorization_base.MatrixFactorizationBase",
)
LIGHTFM = ("lightfm.lightfm.LightFM",)
MF = "surprise.prediction_algorithms.matrix_factorization."


def predict_lightfm(
    model: Any, users: Any, items: Any, *, user_features: Any, item_features: Any
) -> Any:
    assert users.dtype == items.dtype == np.int32
    sides = []
    for side, rows, features in (
        ("user", users, user_features),
        ("item", items, item_features),
    ):
        vectors, biases = (
            getattr(model, f"{side}_embeddings"),
            getattr(model, f"{side}_biases"),
        )
        matrix = np.eye(len(biases)) if features is None else features.toarray()
        sides.append((matrix[rows] @ vectors, matrix[rows] @ biases))
    return (sides[0][0] * sides[1][0]).sum(axis=1) + sides[0][1] + sides[1][1]


@pytest.mark.parametrize(
    ("loss", "link"),
    [("warp", Link.RANKING), ("bpr", Link.RANKING), ("logistic", Link.IDENTITY)],
)
def test_lightfm_rows_are_features(loss: str, link: Link) -> None:
    model = imitation(
        *LIGHTFM, user_embeddings=USERS, item_embeddings=ITEMS, user_biases=A, item_biases=B, loss=loss,
        predict=predict_lightfm,
    )  # fmt: skip
    check(from_object(model, user_features="none", item_features="none"), scores())
    features = csr_matrix(DRAW.integers(0, 2, size=(4, 6)).astype(float))
    made = from_object(model, user_features=features, item_features="none")
    dense = features.toarray()
    check(made, (dense @ USERS) @ ITEMS.T + (dense @ A)[:, None] + B)
    assert made.link is link
    wrong = lambda *x, **sides: (  # noqa: E731
        predict_lightfm(model, *x, **sides) + (x[0] == 5) * (x[1] == 7) * 0.5
    )
    model.predict = wrong
    with pytest.raises(
        InputError, match="the scores read from LightFM must be its own"
    ):
        from_object(model, user_features="none", item_features="none")
    with pytest.raises(InputError, match="one column a feature: 8; got 6"):
        from_object(model, user_features="none", item_features=features)
    with pytest.raises(
        InputError, match="must be a matrix or \"none\"; got 'identity'"
    ):
        from_object(model, user_features="identity", item_features="none")
    with pytest.raises(
        InputError, match=r"an option for MF of cornac must be .*; got item_features"
    ):
        from_object(cornac(), item_features=features)


def surprise_set(**more: Any) -> Any:
    return SimpleNamespace(
        global_mean=3.5,
        to_raw_uid=lambda row: f"u{row}",
        to_raw_iid=lambda row: 100 + row,
        n_ratings=9,
        **more,
    )


def estimate(expected: Any) -> Any:
    def predict(model: Any, user: str, item: int, clip: bool = True) -> Any:
        score = expected[int(user[1:]), item - 100]
        return SimpleNamespace(est=min(score, 5.0) if clip else score)

    return predict


def test_surprise() -> None:
    svd = imitation(
        MF + "SVD", pu=USERS, qi=ITEMS, bu=A, bi=B, trainset=surprise_set(), biased=True,
        predict=estimate(scores(offset=3.5)),
    )  # fmt: skip
    model = from_object(svd)
    check(model, scores(offset=3.5))
    assert model.right_ids is not None
    assert (str(model.right_ids[7]), model.left_ids is not None) == ("107", True)
    check(from_object(surprise(bu=A, bi=B)), scores(False))


def cornac_score(expected: Any) -> Any:
    return lambda _, user: expected[user]


RECBOLE = tuple(
    f"recbole.model.abstract_recommender.{name}"
    for name in ("GeneralRecommender", "AbstractRecommender")
)


def full_sort(users: Any, items: Any) -> Any:
    def predict(_: Any, interaction: Any) -> Tensor:
        return Tensor(users[interaction["user_id"].array] @ items.T)

    return predict


def recbole(name: str, **attributes: Any) -> Any:
    tables = {
        "user_embedding": embedding(USERS),
        "item_embedding": embedding(ITEMS),
        "USER_ID": "user_id",
    }
    return imitation(
        f"recbole.model.general_recommender.{name}",
        RECBOLE[1],
        RECBOLE[0],
        **{**tables, **attributes},
    )


def test_graph_models_of_recbole_are_read_as_they_score() -> None:
    far = USERS[::-1] + 1, ITEMS * 2 - 1
    modes: list[str] = []

    def forward(model: Any) -> Any:
        assert set(modes) == {"eval"}
        return Tensor(far[0]), Tensor(far[1])

    light = recbole(
        "lightgcn.LightGCN",
        forward=forward,
        eval=lambda _: modes.append("eval"),
        full_sort_predict=full_sort(*far),
    )
    check(from_object(light), far[0][1:] @ far[1][1:].T)
    # Where `forward` makes more than two tables, which of them scores is not known: those that have their names do.
    more = recbole(
        "ngcf.NGCF",
        forward=lambda _: (Tensor(ITEMS),) * 3,
        full_sort_predict=full_sort(USERS, ITEMS),
    )
    check(from_object(more), USERS[1:] @ ITEMS[1:].T)
    # One that multiplies something else is refused.
    with pytest.raises(
        InputError,
        match=r"scores read from ENMF must be its own; got .* full_sort_predict says",
    ):
        from_object(
            recbole("enmf.ENMF", full_sort_predict=full_sort(USERS * [1, 2, 3], ITEMS))
        )
    with pytest.raises(InputError, match="factors of users and items; got Pop"):
        from_object(imitation("recbole.model.general_recommender.pop.Pop", RECBOLE[1]))


def implicit(columns: int = 0, **strength: float) -> Any:
    users = np.column_stack(
        [USERS, *[np.ones(6)] * (columns > 0), *[A] * (columns > 1)]
    )
    items = np.column_stack(
        [ITEMS, *[B] * (columns > 0), *[np.ones(8)] * (columns > 1)]
    )
    return imitation(
        *ALS, user_factors=users, item_factors=items, factors=3, **strength
    )


def lightfm(user: float, item: float) -> Any:
    return imitation(
        *LIGHTFM, user_embeddings=USERS, item_embeddings=ITEMS, user_biases=A, item_biases=B, user_alpha=user,
        item_alpha=item,
    )  # fmt: skip


def surprise(name: str = "SVD", **attributes: Any) -> Any:
    trainset = surprise_set(ur=[[]] * 6)
    return imitation(
        MF + name,
        pu=USERS,
        qi=ITEMS,
        trainset=trainset,
        biased=False,
        predict=estimate(scores(False)),
        **attributes,
    )


def cornac(**attributes: Any) -> Any:
    return imitation("cornac.models.mf.recom_mf.MF", "cornac.models.recommender.Recommender", u_factors=USERS,
                     i_factors=ITEMS, score=cornac_score(scores(False)), **attributes)  # fmt: skip


@pytest.mark.parametrize(
    ("trained", "objective"),
    [
        (implicit(regularization=0.1), "factors"),
        (implicit(regularization=0.0), "none"),
        (implicit(), None),
        (implicit(1, regularization=0.1), "factors-counted"),
        (implicit(1, regularization=0.0), "none"),
        (implicit(2, regularization=0.1), None),
        (implicit(2, regularization=0.0), "none"),
        (lightfm(0.0, 0.0), "none"),
        (lightfm(0.1, 0.1), None),
        (lightfm(0.0, 0.1), None),
        (surprise(reg_pu=0.02, reg_qi=0.1, lr_pu=0.005), "factors-counted"),
        (surprise(reg_pu=0, reg_qi=0, lr_pu=0.005), "none"),
        (surprise(reg_pu=0.02, reg_qi=0, lr_pu=0.005), None),
        (surprise("SVDpp", reg_pu=0.02, reg_qi=0.02, lr_pu=0.005, yj=ITEMS), None),
        (surprise(reg_pu=0.06, reg_qi=0.06), None),
        (surprise(), None),
        (cornac(lambda_reg=0.02), "factors-counted"),
        (cornac(lambda_reg=0.02, backend="cpu"), "factors-counted"),
        (cornac(lambda_reg=0.02, backend="pytorch"), None),
        (cornac(lambda_reg=0.0), "none"),
        (cornac(), None),
    ],
)
def test_each_library_names_the_objective_it_has(
    trained: Any, objective: str | None
) -> None:
    features = (
        {"user_features": "none", "item_features": "none"}
        if hasattr(trained, "user_biases")
        else {}
    )
    assert from_object(trained, **features).objective == objective


def test_recbole_leaves_the_padding_row_out_and_its_own_row_numbers() -> None:
    def forward(model: Any, user: Any, item: Any) -> None: ...

    pairwise = SimpleNamespace(name="PAIRWISE")
    bpr = recbole(
        "bpr.BPR",
        forward=forward,
        input_type=pairwise,
        full_sort_predict=full_sort(USERS, ITEMS),
    )
    model = from_object(bpr)
    check(model, scores(False)[1:, 1:])
    assert model.link is Link.RANKING
    assert model.right_ids is None
    assert from_object(bpr, ids=list("bcdefgh")).names("right")[0] == "b"
    with pytest.raises(InputError, match="item ids must be a list of 7, one a row"):
        from_object(bpr, ids=list("abcdefgh"))
    pointwise = SimpleNamespace(name="POINTWISE")
    other = recbole(
        "dmf.X", input_type=pointwise, full_sort_predict=full_sort(USERS, ITEMS)
    )
    assert from_object(other).link is Link.IDENTITY
