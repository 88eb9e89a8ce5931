"""What is of a wrong type, beyond sense, or outside its limits gets the house's sentence, before any work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import embaudit as ea

MODEL = ea.FactorModel.from_user_item(np.eye(4, 3) + 0.1, np.eye(5, 3) + 0.2)
TABLE = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) % 7, "g": list("xyz") * 10})


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("audit", "m.npz", "--gauges", "1000000000"), "--n-gauges must be an integer from 1 to 10000"),
        (("audit", "m.npz", "--pairs", "100000000000"), "--n-pairs must be an integer from 1 to 100000000"),
        (
            ("simpson", "t.csv", "--x", "a", "--y", "b", "--group", "g", "--permutations", "100000000"),
            "n_permutations must be an integer from 0 to 1000000",
        ),
        (("fix", "m.npz", "--out", "f.npz", "--dimensions", "1000000000"), "dimensions"),
        (("fix", "m.npz", "--out", "f.npz", "--dimensions", "0"), "dimensions"),
        (("fit", "tiny.csv", "--objective", "product", "--rank", "2"), "at least 1e-100"),
        (
            ("fit", "tiny.csv", "--objective", "product", "--rank", "1000000000"),
            "--rank must be from 1 to 5, the fewer of users and items; got 1000000000.",
        ),
    ],
)
def test_commands_refuse_what_is_beyond_sense(tmp_path, monkeypatch, capsys, command, words):
    from embaudit.cli import main

    monkeypatch.chdir(tmp_path)
    ea.save(MODEL, "m.npz")
    TABLE.to_csv("t.csv", index=False)
    lines = (f"{user},{item},1e-320\n" for user in range(6) for item in range(5))
    (tmp_path / "tiny.csv").write_text("userId,movieId,rating\n" + "".join(lines))
    monkeypatch.setattr("sys.argv", ["embaudit", *command])
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr().err
    assert stopped.value.code == 2, said
    assert said.count("\n") == 1
    assert words in said
    assert not (tmp_path / "f.npz").exists()
