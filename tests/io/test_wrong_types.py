"""What is of a wrong type, beyond sense, or outside its limits gets the house's sentence, before any work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import read_interactions, read_labels

MODEL = ea.FactorModel.from_user_item(np.eye(4, 3) + 0.1, np.eye(5, 3) + 0.2)
TABLE = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) % 7, "g": list("xyz") * 10})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ea.load(3), "the input must be a path, as text or a Path; got 3."),
        (lambda: ea.load(None), "the input must be a path, as text or a Path; got None."),
        (lambda: ea.load(b"x.npz"), "the input must be a path, as text or a Path; got b'x.npz'."),
        (lambda: read_labels(3.5, 2), "the input must be a path, as text or a Path; got 3.5."),
        (lambda: read_interactions(None), "the input must be a path, as text or a Path; got None."),
        (lambda: ea.save(MODEL, 3), "the output must be a path, as text or a Path; got 3."),
        (
            lambda: ea.save(3, "x.npz"),
            "the model must be a FactorModel; got int; make one of an object with from_object.",
        ),
        (lambda: ea.audit(MODEL, groups=3), 'groups must be a list, such as ["linear"]; got 3.'),
        (
            lambda: ea.audit(MODEL, groups="linear"),
            "groups must be a list, such as [\"linear\"]; got 'linear'.",
        ),
        (lambda: ea.audit(MODEL, roles="right"), "roles must be a list, such as [\"item\"]; got 'right'."),
        (lambda: ea.audit(MODEL, roles=1.5), 'roles must be a list, such as ["item"]; got 1.5.'),
        (lambda: ea.audit(MODEL, n_gauges=10_001), "n_gauges must be an integer from 1 to 10000; got 10001."),
        (lambda: ea.audit(MODEL, n_gauges=0), "n_gauges must be an integer from 1 to 10000; got 0."),
        (lambda: ea.audit(MODEL, n_pairs=10**8 + 1), "n_pairs must be an integer from 1 to 100000000; got 100000001."),
        (
            lambda: ea.simpson(TABLE, x="a", y="b", groups=["g"], n_permutations=10**6 + 1),
            "n_permutations must be an integer from 0 to 1000000; got 1000001.",
        ),
        (
            lambda: ea.simpson(TABLE, x="a", y="b", groups=["g"], n_permutations=-1),
            "n_permutations must be an integer from 0 to 1000000; got -1.",
        ),
        (
            lambda: ea.simpson(TABLE, x="a", y="b", groups=["g"], min_size=1),
            "min_size must be an integer from 2 to 100000000; got 1.",
        ),
        (
            lambda: ea.simulate_interactions(n_users=10**8 + 1),
            "n_users must be an integer from 1 to 100000000; got 100000001.",
        ),
        (
            lambda: ea.FactorModel(np.eye(2), np.eye(2), roles=3),
            'roles must be two texts, such as ("user", "item"); got 3.',
        ),
        (
            lambda: MODEL.replace(roles=("a", 3)),
            "roles must be two texts, such as (\"user\", \"item\"); got ('a', 3).",
        ),
        (
            lambda: MODEL.replace(roles=("a",)),
            "roles must be two texts, such as (\"user\", \"item\"); got ('a',).",
        ),
    ],
)  # fmt: skip
def test_the_sentence(call, sentence):
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("audit", "m.npz", "--gauges", "1000000000"), "n_gauges must be an integer from 1 to 10000"),
        (("audit", "m.npz", "--pairs", "100000000000"), "n_pairs must be an integer from 1 to 100000000"),
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
