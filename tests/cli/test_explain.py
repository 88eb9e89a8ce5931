"""`embaudit explain` prints an entry, lists all of them, and refuses what it does not know."""

from __future__ import annotations

from embaudit.auditing.texts import CODES, WORDS


def test_a_code_is_explained_within_eighty_columns(embaudit):
    result = embaudit("explain", "emb202")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "EMB202 (tip): the item bias takes no part in the cosines\n"
        "  What it means: Predictions rank items with their bias; cosines do not see it.\n"
        "  Why it matters: What the bias holds, often popularity, is missing from a list\n"
        "    of neighbours. Libraries that keep the bias among the factors, as implicit\n"
        "    does, list others: `--full` and the page show both lists.\n"
        "  What to do: Rank by the score where it should count.\n"
        "  How it is computed: Reported where the bias is not the same for all items and\n"
        "    the model's predictions see it.\n"
        "  Reference: Koren, Bell, Volinsky: Matrix Factorization Techniques for\n"
        "    Recommender Systems (Computer 42, 2009).\n"
        "  Beside all others: docs/checks.md#emb202 in the source of embaudit\n"
    )


def test_what_is_unknown_is_refused_with_the_nearest(embaudit):
    result = embaudit("explain", "EMB0001")
    assert result.code == 2
    assert result.out == ""
    assert result.err == (
        "embaudit: what to explain must be a code or a word that reports use; got 'EMB0001'; did you mean EMB001? "
        "`embaudit explain` lists them all.\n"
    )


def test_without_a_name_everything_is_listed(embaudit):
    result = embaudit("explain")
    lines = result.out.splitlines()
    assert result.code == 0
    assert [line.split()[0] for line in lines if line.startswith("EMB")] == list(CODES)
    assert "EMB201  some rows have no direction (tip)" in lines
    assert max(map(len, lines)) <= 80
    assert " ".join(result.out.split()).endswith(f"Words: {', '.join(WORDS)}.")
