"""Names with control characters, markup or undecodable bytes are shown safely."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

import embaudit as ea
from embaudit.cli import main
from embaudit.core.words import visible
from embaudit.errors import InputError, escaped, must_be

ODD = {
    "a\nb": r"a\nb",
    "a\rb\tc": r"a\rb\tc",
    "\x1b[2J": r"\x1b[2J",
    "\x00\x7f\x9b": r"\x00\x7f\x9b",
    "\u202edil": r"\u202edil",
    "\u2066\u200e\ufeff": r"\u2066\u200e\ufeff",
    "\u2028\u2029\x85": r"\u2028\u2029\x85",
    "\ud800": r"\ud800",
    "[bold]x[/bold] [/nope]": "[bold]x[/bold] [/nope]",
    "<script>&amp;": "<script>&amp;",
    "é 日本 \u3000 می\u200cخواهم 👩\u200d🔬": "é 日本 \u3000 می\u200cخواهم 👩\u200d🔬",
    r"back\slash 'quote'": r"back\slash 'quote'",
}


@pytest.mark.parametrize("name", ODD)
def test_one_function_escapes(name):
    assert escaped(name) == ODD[name]
    assert escaped(escaped(name)) == escaped(name)
    assert str(must_be(name, "known", "x")) == f"{ODD[name]} must be known; got x."
    assert str(InputError(name)) == ODD[name]
    assert visible(name) == (name if ODD[name] == name else f"'{ODD[name]}'")


def test_halves_of_letters_become_escapes_where_names_enter():
    names = np.array(["\ud800", "a\udc80", "é"])
    model = ea.FactorModel.from_arrays(
        None,
        np.eye(3),
        right_ids=names,
        right_names=names.astype(">U2"),
        roles=("u\n", "\u202ei"),
    )
    assert (
        model.right_ids.tolist()
        == model.right_names.tolist()
        == [r"\ud800", r"a\udc80", "é"]
    )
    assert model.roles == (r"u\n", r"\u202ei")
    assert model.right_side.title == r"\u202ei"
    assert "\n" not in repr(model)
    kept = np.array(["\ud7ff", "\ue000"])
    assert (
        ea.FactorModel.from_vectors(np.eye(2), ids=kept).right_ids.tolist()
        == kept.tolist()
    )
    with pytest.raises(InputError, match="ids must be unique"):
        ea.FactorModel.from_vectors(np.eye(2), ids=["\ud800", r"\ud800"])


@pytest.fixture
def odd(tmp_path):
    """Write a model, tensors and a table that are full of odd names."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(30, 4))
    ids = np.array([*ODD, *(f"item {i}" for i in range(30 - len(ODD)))])
    model = ea.FactorModel.from_arrays(
        draw.normal(size=(20, 4)),
        rows,
        right_ids=ids,
        roles=("us\ner", "[red]it\x1bem"),
    )
    ea.save(model, tmp_path / "m.npz")
    names = ("[bold]x[/bold] [/nope]", "a\nb", "\u202edil", "<script>&amp;", "$x")
    np.savez(tmp_path / "t.npz", **{name: rows + i for i, name in enumerate(names)})
    numbers = draw.normal(size=(len(ODD), 9, 2))
    lines = (
        f'"{name}",{x},{y}'
        for name, of in zip(ODD, numbers, strict=True)
        for x, y in of
        if '"' not in name
    )
    table = "gr\x1bp,$x$,y\n" + "\n".join(lines)
    (tmp_path / "s.csv").write_bytes(
        table.replace("\x00", "").encode("utf-8", "replace")
    )


COMMANDS = (
    ("compare", "m.npz", "m.npz", "--by-row", "--full"),
    ("compare", "m.npz", "m.npz", "--by-row"),
    (
        "audit",
        "m.npz",
        "--n-gauges",
        "1",
        "--n-pairs",
        "50",
        "--n-starts",
        "0",
        "--show",
        "\x1b[2J",
    ),
    ("blocks", "t.npz", "t.npz", "--full"),
    ("simpson", "s.csv", "--x", "$x$", "--y", "y", "--groups", "gr\x1bp"),
    ("simpson", "s.csv", "--x", "$x$", "--y", "y", "--groups", "gr\x1bp", "--full"),
)


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize(
    ("command", "encoding"),
    [(command, ("utf-8", "ascii")[at % 2]) for at, command in enumerate(COMMANDS)],
)
def test_commands_print_and_write_odd_names(
    embaudit, tmp_path, monkeypatch, command, encoding
):
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(
        sys, "argv", ["embaudit", *command, "--json", "a.json", "--out", "a.html"]
    )
    with pytest.raises(SystemExit) as stopped:
        main()
    out.flush()
    err.flush()
    assert not stopped.value.code, err.buffer.getvalue()
    printed = out.buffer.getvalue().decode(encoding)
    assert printed.replace("\n", "") == escaped(printed.replace("\n", ""))
    page = (tmp_path / "a.html").read_text("utf-8")
    assert page.replace("\n", "") == escaped(page.replace("\n", ""))
    assert "<script>&" not in page
    assert json.loads((tmp_path / "a.json").read_text("utf-8"))
