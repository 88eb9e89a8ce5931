"""`audit --by`: parts of one table, named by a column of another table."""

from __future__ import annotations

import numpy as np
import pytest

ROWS = np.random.default_rng(0).normal(size=(400, 24)) / np.sqrt(np.arange(1, 25))


@pytest.fixture
def files(tmp_path):
    """Vectors of which every second one is turned, and a table that says which."""
    turned = ROWS.copy()
    turned[1::2] = turned[1::2] @ np.linalg.qr(ROWS[:24])[0]
    lines = [
        f"w{row}," + ",".join(map(repr, x)) for row, x in enumerate(turned.tolist())
    ]
    header = "id," + ",".join(f"v{column}" for column in range(24))
    (tmp_path / "v.csv").write_text("\n".join([header, *lines]))
    parts = [f"w{row},{'odd' if row % 2 else 'even'}" for row in range(400)]
    (tmp_path / "items.csv").write_text("\n".join(["id,revision", *parts]))
    return tmp_path


def test_an_audit_by_a_column_finds_two_spaces_and_is_verified(embaudit, files):
    model = [str(files / "v.csv"), "--items", str(files / "items.csv")]
    options = ["--by", "revision", "--compared", "cosine", "--quick", "--n-starts", "0"]
    record = str(files / "a.json")
    out = embaudit("audit", *model, *options, "--json", record).out
    assert "CHECK FIRST: rows of even and of odd do not share one" in out
    assert "All agrees" in embaudit("verify", record, *model).out


def test_a_column_without_its_table_is_refused(embaudit, files):
    refused = embaudit("audit", str(files / "v.csv"), "--by", "revision")
    assert refused.code == 2
    assert "--by must be given with --items" in refused.err
