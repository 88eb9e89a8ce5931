"""Which rows of two models are the same entity, and how predictions see them."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.comparison.matching import match
from embaudit.errors import InputError
from embaudit.model import FactorModel


def vectors(n=9, k=3, seed=0, **fields):
    return FactorModel.from_vectors(
        np.random.default_rng(seed).standard_normal((n, k)), **fields
    )


NAMED = vectors(ids=list("abcdefghi"))


def test_ids_that_are_numbers_match_ids_that_are_texts():
    numbers, texts = np.arange(9), [str(i) for i in range(8, -1, -1)]
    for one, two in ((numbers, texts), (texts, numbers)):
        assert match(
            vectors(ids=one), vectors(ids=two), "right"
        ).after.tolist() == list(range(8, -1, -1))


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            NAMED,
            vectors(),
            "item ids must be in both .*; got no ids in the second model",
        ),
        (
            vectors(),
            NAMED,
            "item ids must be in both .*; got no ids in the first model",
        ),
        (
            vectors(9),
            vectors(10),
            "must be the same in both models; got 9 in the first model and 10",
        ),
        (
            NAMED,
            vectors(ids=list("cdefghijk")),
            "at least 8; got 7; .*: "
            "the first id is 'a' in the first model and 'c' in the second",
        ),
        (
            vectors(7),
            vectors(7),
            "at least 8; got 7; compare models of at least 8 items",
        ),
    ],
)
def test_compare_refuses_rows_that_cannot_be_matched(before, after, sentence):
    with pytest.raises(InputError, match=sentence):
        compare(before, after)


def refused(one, two, role="right", **options):
    with pytest.raises(InputError) as error:
        match(one, two, role, **options)
    return str(error.value)


def test_rows_are_matched_by_order_only_with_by_row_and_equal_numbers_of_rows():
    named, plain = vectors(ids=list("abcdefghi")), random_model(n=9, p=9, k=3)
    assert refused(vectors(), vectors(seed=1), by_row=False).startswith(
        "item ids must be in the first model, so"
    )
    assert match(vectors(), vectors(), "right", by_row=False).key == "row numbers", (
        "equal rows need no ids"
    )
    without_ids = refused(named, vectors())
    assert "got no ids in the second model; add them with ids when the" in without_ids
    assert "when the model is read, or join by" in without_ids
    other = vectors().replace(roles=("reader", "book"))
    assert refused(named, other).startswith(
        "item ids must be in both models or in neither;"
    )
    users = refused(plain.replace(left_ids=range(9)), plain, "left")
    assert "user ids must be in both models" in users
    assert "left_ids" in users
    for one, two in ((named, vectors(ids=list("jklmnopqr"))), (vectors(), vectors())):
        found = match(one, two, "right", by_row=True)
        assert (found.before.tolist(), found.after.tolist(), found.key) == (
            [*range(9)],
            [*range(9)],
            "row numbers",
        )
    assert "got 9 in the first model and 10" in refused(
        vectors(9, ids=range(9)), vectors(10), by_row=True
    )


def test_row_numbers_do_not_match_ids_of_another_range():
    rows = range(20)
    movies = [*range(1, 16), 50, 60, 70, 80, 90]
    first = (
        "got row numbers 0 to 19 in the first model "
        "and ids such as 50 in the second model; give both sides the same ids"
    )
    second = (
        "got row numbers 0 to 19 in the second model "
        "and ids such as 50 in the first model; give both sides the same ids"
    )
    assert first in refused(vectors(20, ids=rows), vectors(20, ids=movies))
    assert second in refused(
        vectors(20, ids=movies), vectors(20, ids=rows), partial=True
    )
    assert first in refused(
        vectors(20, ids=list(map(str, rows))), vectors(20, ids=movies)
    )
    # Some of the rows that the other counts, or more than it counts, are of its own
    # world.
    assert (
        len(match(vectors(20, ids=rows), vectors(15, ids=movies[:15]), "right")) == 15
    )
    assert (
        len(match(vectors(20, ids=rows), vectors(21, ids=[*rows, 99]), "right")) == 20
    )
    assert (
        len(match(vectors(20, ids=range(1, 21)), vectors(15, ids=movies[:15]), "right"))
        == 15
    )


def test_less_than_half_of_the_rows_in_common_is_refused_without_partial():
    one, half, less = (
        vectors(20, ids=range(5, 25)),
        vectors(20, ids=range(15, 35)),
        vectors(20, ids=range(16, 36)),
    )
    assert len(match(one, half, "right")) == 10
    assert len(match(one, less, "right", partial=True)) == 9
    assert (
        "must be found in the other; got 9 of 20; check the ids, or keep only the rows"
        in refused(one, less)
    )
    assert "got 8 of 20;" in refused(one, vectors(20, ids=range(17, 37)))
    with pytest.raises(InputError, match="at least half of the items"):
        compare(one, less)
    assert len(compare(one, less, partial=True).changes["right"].match) == 9
    assert (
        len(
            match(
                vectors(41, ids=range(41)), vectors(20, ids=range(30, 10, -1)), "right"
            )
        )
        == 20
    )


FILMS = [f"Film {i}" for i in range(10)]


def titled(titles):
    """Return ten items with the ids 1 to 10 and these titles."""
    return vectors(10, ids=range(1, 11)).replace(right_names=titles)


def renamed(*rows):
    """Return the same items, with other titles of some rows."""
    return titled([f"Other {i}" if i in rows else FILMS[i] for i in range(10)])


@pytest.mark.parametrize(
    "titles",
    [FILMS, [title.upper() for title in FILMS], ["1", *FILMS[1:]]],
    ids=["the same", "capital letters", "an id in place of a title"],
)
def test_ids_with_the_same_titles_match(titles):
    assert len(match(titled(FILMS), titled(titles), "right")) == 10
    assert len(match(titled(titles), titled(FILMS), "right")) == 10


def test_ids_match_if_only_one_model_has_titles():
    without_titles = vectors(10, ids=range(1, 11))
    assert len(match(titled(FILMS), without_titles, "right")) == 10


def test_one_id_with_two_titles_is_refused():
    message = refused(titled(FILMS), renamed(2, 5))
    assert (
        "got 2 ids with two titles, such as 'Film 2' and 'Other 2' for 3; " in message
    )
    assert "for 3; compare models" in message


def test_a_partial_match_skips_ids_with_two_titles():
    found = match(titled(FILMS), renamed(2, 5), "right", partial=True)
    assert found.before.tolist() == [0, 1, 3, 4, 6, 7, 8, 9]


def test_titles_do_not_count_if_rows_are_matched_by_number():
    found = match(titled(FILMS), renamed(*range(10)), "right", by_row=True)
    assert len(found) == 10


def test_rows_without_ids_are_matched_by_names_that_occur_once():
    """As tokens of a folder and of a GGUF, whose rows stand in another order."""
    names = np.array([*"abcdefghij", "x", "x"])
    order = np.random.default_rng(0).permutation(12)
    one = FactorModel.from_softmax(np.eye(12), labels=names)
    two = FactorModel.from_softmax(np.eye(12)[order], labels=names[order])
    found = match(one, two, "right", by_row=False)
    assert (found.key, len(found), found.only_before, found.only_after) == (
        "names",
        10,
        2,
        2,
    )
    assert (
        names[found.before].tolist()
        == names[order][found.after].tolist()
        == list("abcdefghij")
    )
    assert "matched by their names" in compare(one, two, by_row=False).explain()
    assert "label ids must be in" in refused(
        one, FactorModel.from_softmax(np.eye(12)), by_row=False
    )
