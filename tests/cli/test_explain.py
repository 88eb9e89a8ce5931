"""`embaudit explain` lists all entries; transcripts hold some of them."""

from __future__ import annotations

from embaudit.auditing.texts import CODES, WORDS


def test_without_a_name_everything_is_listed(embaudit):
    result = embaudit("explain")
    lines = result.out.splitlines()
    assert result.code == 0
    assert [line.split()[0] for line in lines if line.startswith("EMB")] == list(CODES)
    assert max(map(len, lines)) <= 80
    assert " ".join(result.out.split()).endswith(f"Words: {', '.join(WORDS)}.")
