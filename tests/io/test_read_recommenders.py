"""Live models of recommender libraries, search libraries and gensim.

Each object imitates the attributes of its library; `tests/peers` trains real ones.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from example_files import refusal
from imitations import Tensor, imitation
from scipy.sparse import csr_matrix

from embaudit import FactorModel, Link
from embaudit.errors import InputError
from embaudit.io import load
from embaudit.model import LINKS

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
    [
        ("warp", LINKS["ranking"]),
        ("bpr", LINKS["ranking"]),
        ("logistic", LINKS["identity"]),
    ],
)
def test_lightfm_rows_are_features(loss: str, link: Link) -> None:
    model = imitation(
        *LIGHTFM,
        user_embeddings=USERS,
        item_embeddings=ITEMS,
        user_biases=A,
        item_biases=B,
        loss=loss,
        predict=predict_lightfm,
    )
    check(load(model, user_features="none", item_features="none"), scores())
    features = csr_matrix(DRAW.integers(0, 2, size=(4, 6)).astype(float))
    made = load(model, user_features=features, item_features="none")
    dense = features.toarray()
    check(made, (dense @ USERS) @ ITEMS.T + (dense @ A)[:, None] + B)
    assert made.link == link
    wrong = lambda *x, **sides: (  # noqa: E731
        predict_lightfm(model, *x, **sides) + (x[0] == 5) * (x[1] == 7) * 0.5
    )
    model.predict = wrong
    with pytest.raises(
        InputError, match="the scores read from LightFM must equal its own scores"
    ):
        load(model, user_features="none", item_features="none")
    with pytest.raises(
        InputError, match="a matrix with 8 columns, one per feature; got 6"
    ):
        load(model, user_features="none", item_features=features)
    with pytest.raises(
        InputError, match="must be a matrix or \"none\"; got 'identity'"
    ):
        load(model, user_features="identity", item_features="none")
    with pytest.raises(
        InputError, match=r"an option for MF of cornac must be .*; got item_features"
    ):
        load(cornac(), item_features=features)


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
        MF + "SVD",
        pu=USERS,
        qi=ITEMS,
        bu=A,
        bi=B,
        trainset=surprise_set(),
        biased=True,
        predict=estimate(scores(offset=3.5)),
    )
    model = load(svd)
    check(model, scores(offset=3.5))
    assert model.right_ids is not None
    assert (str(model.right_ids[7]), model.left_ids is not None) == ("107", True)
    check(load(surprise(bu=A, bi=B)), scores(False))


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
    check(load(light), far[0][1:] @ far[1][1:].T)
    # Where `forward` makes more than two tables, which of them scores is not known:
    # those that have their names do.
    more = recbole(
        "ngcf.NGCF",
        forward=lambda _: (Tensor(ITEMS),) * 3,
        full_sort_predict=full_sort(USERS, ITEMS),
    )
    check(load(more), USERS[1:] @ ITEMS[1:].T)
    # One that multiplies something else is refused.
    with pytest.raises(
        InputError,
        match=r"scores read from ENMF must equal its own scores; got .* "
        r"full_sort_predict says",
    ):
        load(
            recbole("enmf.ENMF", full_sort_predict=full_sort(USERS * [1, 2, 3], ITEMS))
        )
    with pytest.raises(InputError, match="factors of users and items; got Pop"):
        load(imitation("recbole.model.general_recommender.pop.Pop", RECBOLE[1]))


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
        *LIGHTFM,
        user_embeddings=USERS,
        item_embeddings=ITEMS,
        user_biases=A,
        item_biases=B,
        user_alpha=user,
        item_alpha=item,
    )


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
    return imitation(
        "cornac.models.mf.recom_mf.MF",
        "cornac.models.recommender.Recommender",
        u_factors=USERS,
        i_factors=ITEMS,
        score=cornac_score(scores(False)),
        **attributes,
    )


@pytest.mark.parametrize(
    ("trained", "objective"),
    [
        (implicit(regularization=0.1), "factors"),
        (implicit(regularization=0.0), "none"),
        (implicit(), None),
        (implicit(1, regularization=0.1), "bpr"),
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
    assert load(trained, **features).objective == objective


def test_recbole_leaves_the_padding_row_out_and_its_own_row_numbers() -> None:
    def forward(model: Any, user: Any, item: Any) -> None: ...

    pairwise = SimpleNamespace(name="PAIRWISE")
    bpr = recbole(
        "bpr.BPR",
        forward=forward,
        input_type=pairwise,
        full_sort_predict=full_sort(USERS, ITEMS),
    )
    model = load(bpr)
    check(model, scores(False)[1:, 1:])
    assert model.link == LINKS["ranking"]
    assert model.right_ids is None
    assert load(bpr, ids=list("bcdefgh")).names("right")[0] == "b"
    with pytest.raises(InputError, match="item ids must be a list of 7, one per row"):
        load(bpr, ids=list("abcdefgh"))
    pointwise = SimpleNamespace(name="POINTWISE")
    other = recbole(
        "dmf.X", input_type=pointwise, full_sort_predict=full_sort(USERS, ITEMS)
    )
    assert load(other).link == LINKS["identity"]


# One example of each library, with vectors whose products are worked out by hand

TWO_USERS = np.array([[1.0, 2.0], [0.0, 1.0]])
THREE_ITEMS = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
PRODUCTS = np.array([[1.0, 4.0, 6.0], [0.0, 1.0, 3.0]])
USER_BIAS, ITEM_BIAS = np.array([10.0, 20.0]), np.array([0.5, 0.0, -1.0])
WITH_BIASES = PRODUCTS + USER_BIAS[:, None] + ITEM_BIAS
SPACE = SimpleNamespace


def implicit_als(added: float = 0.0) -> Any:
    def recommend(
        self: Any, user: int, _: Any, *, items: Any, **options: Any
    ) -> tuple[Any, Any]:
        scores = self.item_factors[items] @ self.user_factors[user] + added
        best_first = np.argsort(-scores, kind="stable")
        return items[best_first], scores[best_first]

    return imitation(
        ALS[0],
        user_factors=TWO_USERS,
        item_factors=THREE_ITEMS,
        factors=2,
        regularization=0.1,
        recommend=recommend,
    )


def test_implicit_is_compared_with_what_it_recommends() -> None:
    model = load(implicit_als())
    assert model.predictions().tolist() == PRODUCTS.tolist()
    sentence = refusal(load, implicit_als(added=1.0))
    assert (
        "the scores read from AlternatingLeastSquares must equal its own scores"
        in sentence
    )
    assert "got 1 where its recommend says 2" in sentence


def test_the_logistic_model_of_implicit_has_a_bias_on_each_side() -> None:
    """Its rows end in (1, bias) for users and (bias, 1) for items."""
    model = imitation(
        "implicit.cpu.lmf.LogisticMatrixFactorization",
        user_factors=np.column_stack([TWO_USERS, np.ones(2), USER_BIAS]),
        item_factors=np.column_stack([THREE_ITEMS, ITEM_BIAS, np.ones(3)]),
        factors=2,
    )
    check(load(model), WITH_BIASES)


def ratings_of_surprise(**more: Any) -> Any:
    return SPACE(
        global_mean=3.5,
        to_raw_uid=lambda row: f"u{row}",
        to_raw_iid=lambda row: 100 + row,
        **more,
    )


def test_svd_of_surprise_has_the_ids_and_the_mean_of_its_ratings() -> None:
    model = load(
        imitation(
            MF + "SVD",
            pu=TWO_USERS,
            qi=THREE_ITEMS,
            bu=USER_BIAS,
            bi=ITEM_BIAS,
            biased=True,
            trainset=ratings_of_surprise(),
        )
    )
    check(model, WITH_BIASES + 3.5)
    assert model.offset == 3.5
    assert model.left_ids.tolist() == ["u0", "u1"]
    assert model.right_ids.tolist() == [100, 101, 102]


def test_users_of_svd_plus_plus_include_what_they_rated() -> None:
    """A user's row is p + Σ y / √n over the n items that the user rated."""
    implied = np.array([[2.0, 0.0], [0.0, 4.0], [6.0, 2.0]])
    rated = {0: [(0, 5), (1, 3), (2, 4), (0, 1)], 1: []}
    model = load(
        imitation(
            MF + "SVDpp",
            pu=TWO_USERS,
            qi=THREE_ITEMS,
            bu=USER_BIAS,
            bi=ITEM_BIAS,
            yj=implied,
            trainset=ratings_of_surprise(ur=rated),
        )
    )
    # (2, 0) + (0, 4) + (6, 2) + (2, 0) = (10, 6), divided by √4.
    assert model.left.tolist() == [[1 + 5, 2 + 3], [0, 1]]


CORNAC = "cornac.models.recommender.Recommender"


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("BPR", LINKS["ranking"]),
        ("WBPR", LINKS["ranking"]),
        ("MMMF", LINKS["ranking"]),
        ("IBPR", LINKS["ranking"]),
        ("MF", LINKS["identity"]),
        ("NMF", LINKS["identity"]),
    ],
)
def test_models_of_cornac_that_rank_have_the_ranking_link(
    name: str, link: Link
) -> None:
    model = imitation(f"cornac.models.x.{name}", CORNAC, U=TWO_USERS, V=THREE_ITEMS)
    assert load(model).link == link


def cornac_graph(measure: str) -> Any:
    return imitation(
        "cornac.models.x.LightGCN",
        CORNAC,
        get_user_vectors=lambda _: TWO_USERS,
        get_item_vectors=lambda _: THREE_ITEMS,
        get_vector_measure=lambda _: measure,
        uid_map={"b": 1, "a": 0},
    )


def test_graph_models_of_cornac_are_read_by_the_vectors_they_multiply() -> None:
    model = load(cornac_graph("dot product"))
    assert model.predictions().tolist() == PRODUCTS.tolist()
    assert model.left_ids.tolist() == ["a", "b"]
    assert "must be fitted, with factors of users" in refusal(
        load, cornac_graph("cosine")
    )


@pytest.mark.parametrize(
    ("loss", "link"),
    [
        ("logistic", LINKS["sigmoid"]),
        ("pairwise", LINKS["ranking"]),
        ("warp", LINKS["ranking"]),
        ("squared", LINKS["identity"]),
    ],
)
@pytest.mark.parametrize(
    ("decay", "objective"),
    [("AdamW", "decoupled-decay"), (None, "none"), ("L2", None)],
)
def test_the_loss_of_flexmf_sets_its_link_and_the_decay_its_law(
    loss: str, link: Link, decay: str | None, objective: str | None
) -> None:
    model = load(
        imitation(
            "lenskit.flexmf.FlexMFExplicitScorer",
            user_embeddings=TWO_USERS,
            item_embeddings=THREE_ITEMS,
            config=SPACE(loss=loss, reg_method=decay),
        )
    )
    assert (model.link, model.objective) == (link, objective)


def test_layers_of_flexmf_are_averaged() -> None:
    model = load(
        imitation(
            "lenskit.flexmf.FlexMFExplicitScorer",
            model=SPACE(
                u_layers=np.stack([TWO_USERS, 3 * TWO_USERS]),
                i_layers=np.stack([THREE_ITEMS, THREE_ITEMS]),
            ),
        )
    )
    assert model.predictions().tolist() == (2 * PRODUCTS).tolist()


def test_als_of_lenskit_has_biases_and_ids() -> None:
    model = load(
        imitation(
            "lenskit.als.BiasedMFScorer",
            user_embeddings=TWO_USERS,
            item_embeddings=THREE_ITEMS,
            users=SPACE(ids=lambda: [5, 6]),
            items=SPACE(ids=lambda: [1, 2, 3]),
            bias=SPACE(global_bias=3.0, user_biases=USER_BIAS, item_biases=ITEM_BIAS),
        )
    )
    check(model, WITH_BIASES + 3)
    assert (model.left_ids.tolist(), model.right_ids.tolist()) == ([5, 6], [1, 2, 3])


def test_bpr_of_lenskit_has_a_column_of_ones_beside_the_bias() -> None:
    model = load(
        imitation(
            "lenskit.als.BPR",
            user_components=np.column_stack([TWO_USERS, np.ones(2)]),
            item_components=np.column_stack([THREE_ITEMS, ITEM_BIAS]),
            users=SPACE(ids=lambda: [5, 6]),
        )
    )
    assert model.right.tolist() == THREE_ITEMS.tolist()
    assert model.right_bias.tolist() == ITEM_BIAS.tolist()
    assert (model.link, model.left_ids.tolist()) == (LINKS["ranking"], [5, 6])


KEYS = ["a", "b", "c"]


def word2vec(contexts: Any) -> Any:
    return imitation(
        "gensim.models.word2vec.Word2Vec",
        syn1neg=contexts,
        wv=SPACE(vectors=THREE_ITEMS, index_to_key=KEYS),
    )


def test_word2vec_of_gensim_predicts_by_words_and_their_contexts() -> None:
    """Negative sampling trains the sigmoid of context · word."""
    model = load(word2vec(2 * THREE_ITEMS))
    assert (model.link, model.roles) == (LINKS["sigmoid"], ("context", "word"))
    check(model, 2 * THREE_ITEMS @ THREE_ITEMS.T)
    assert model.left_ids.tolist() == model.right_ids.tolist() == KEYS


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (word2vec(2 * THREE_ITEMS), {"kind": "vectors"}),
        # Contexts of another vocabulary are no second table of these words.
        (word2vec(TWO_USERS), {}),
        (
            imitation(
                "gensim.models.keyedvectors.KeyedVectors",
                vectors=THREE_ITEMS,
                index_to_key=KEYS,
            ),
            {},
        ),
    ],
)
def test_vectors_of_gensim_alone(model: Any, options: Any) -> None:
    found = load(model, **options)
    assert (found.left, found.right.tolist()) == (None, THREE_ITEMS.tolist())
    assert found.right_ids.tolist() == KEYS


def test_vectors_of_gensim_without_a_key_for_each_row_have_no_ids() -> None:
    """Keys that were left behind by other vectors name none of these rows."""
    for keys in (KEYS[:2], [*KEYS, "d"], []):
        model = imitation(
            "gensim.models.keyedvectors.KeyedVectors",
            vectors=THREE_ITEMS,
            index_to_key=keys,
        )
        found = load(model)
        assert (found.right.tolist(), found.right_ids) == (THREE_ITEMS.tolist(), None)


def hnswlib_index(*labels: int) -> Any:
    rows = np.arange(20.0).reshape(10, 2)
    return imitation(
        "hnswlib.Index",
        space="l2",
        get_ids_list=lambda _: list(labels),
        get_items=lambda _, asked: rows[asked],
    )


def test_vectors_of_hnswlib_follow_their_labels() -> None:
    """Labels that only count the rows are no ids."""
    counted = load(hnswlib_index(2, 0, 1))
    assert counted.right.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert counted.right_ids is None
    named = load(hnswlib_index(2, 0, 5))
    assert named.right.tolist() == [[0, 1], [4, 5], [10, 11]]
    assert named.right_ids.tolist() == [0, 2, 5]


def deleted(_: Any, labels: Any) -> Any:
    raise RuntimeError("Label not found")


LIGHT = {
    "user_embeddings": TWO_USERS,
    "item_embeddings": THREE_ITEMS,
    "user_biases": USER_BIAS,
    "item_biases": ITEM_BIAS,
}


def test_items_of_lightfm_are_the_features_they_have() -> None:
    """An item with features 0 and 2 is the sum of their rows, and so is its bias."""
    model = imitation(*LIGHTFM, **LIGHT, loss="warp")
    features = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    found = load(model, user_features="none", item_features=features)
    assert found.right.tolist() == [[1, 3], [2, 1]]
    assert found.right_bias.tolist() == [0.5 - 1.0, 0.0]


def test_ids_of_as_many_rows_say_that_each_row_of_lightfm_is_an_entity() -> None:
    model = imitation(*LIGHTFM, **LIGHT, loss="logistic")
    found = load(model, left_ids=[7, 8], ids=[1, 2, 3])
    check(found, WITH_BIASES)
    assert (found.left_ids.tolist(), found.right_ids.tolist()) == ([7, 8], [1, 2, 3])


@pytest.mark.parametrize(
    ("model", "options", "part"),
    [
        (imitation(ALS[0]), {}, "must be fitted, with factors of users and items"),
        (
            imitation("implicit.nearest_neighbours.CosineRecommender", K=3),
            {},
            "a fitted model of a known library; got CosineRecommender",
        ),
        (
            imitation("cornac.models.ease.EASE", CORNAC),
            {},
            "got EASE, which has weights between items; audit another model",
        ),
        (
            imitation("cornac.models.x.NMF", CORNAC),
            {},
            "got NMF without factors; fit it first",
        ),
        (
            imitation("gensim.models.doc2vec.Doc2Vec"),
            {},
            "which has documents in dv and words in wv; pass model.dv, or model.wv",
        ),
        (hnswlib_index(), {}, "an index with vectors; got no vectors"),
        (
            imitation("hnswlib.Index", get_ids_list=lambda _: [1], get_items=deleted),
            {},
            "without deleted vectors",
        ),
        (
            imitation(*LIGHTFM, **LIGHT),
            {},
            'pass that matrix, or user_features="none" if each user was its '
            "own feature",
        ),
        (
            imitation(*LIGHTFM, **LIGHT),
            {"user_features": "none", "ids": [1, 2]},
            "item_features must be the matrix LightFM was trained with",
        ),
        (imitation("mine.Thing"), {}, "from_user_item, from_softmax or from_vectors"),
    ],
)
def test_models_without_two_tables_are_refused(
    model: Any, options: Any, part: str
) -> None:
    assert part in refusal(load, model, **options)
