"""Commands and all they print, kept in `transcripts/` for people to read, and run again as they stand there.

A new line `$ embaudit ...` is enough: `make kept TESTS=tests/cli/test_transcripts.py` writes what follows each.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from textwrap import wrap

import numpy as np
import pandas as pd
import pytest
from browsing import text_of
from models import random_model
from safetensors.numpy import save_file
from snapshots import as_locked, assert_snapshot

import embaudit as ea

FOLDER = Path(__file__).parent / "transcripts"
AS_THEY_ARE = (".json", ".sarif", ".xml", ".md")
FINGERPRINT = re.compile(r"\b[0-9a-f]{32}\b")
VERSIONS = re.compile(r"^(?!ok )(\S+ +)\S.*", re.MULTILINE)
"""What this machine has."""


def times():
    """When each file of the folder was written."""
    return {path: path.stat().st_mtime_ns for path in Path().iterdir()}


@pytest.fixture
def _inputs(embaudit):
    """Write small inputs of every kind into the folder of the test."""
    draw = np.random.default_rng(0)
    model = random_model(
        n=40, p=30, k=4, scales=([4, 2, 1, 0.5], 1), objective="product"
    )
    ids = [f"i{n}" for n in range(30)]
    ea.save(
        model.replace(
            right_ids=ids, left_ids=np.arange(40), right_counts=np.arange(30) + 1.0
        ),
        "model.npz",
    )
    other = ea.gauges.Diagonal(4, max_condition=3.0).sample(rng=1).act(model)
    noise = 0.1 * draw.standard_normal((30, 4))
    names = {"right_ids": ids, "left_ids": np.arange(40)}
    ea.save(model.replace(**names), "twin.npz")
    ea.save(
        other.replace(right=other.right + noise, objective=None, **names), "other.npz"
    )
    turned = ea.gauges.Orthogonal(4).sample(rng=2).act(model.replace(**names))
    ea.save(
        turned.replace(left=2 * turned.left, right=turned.right / 2 + noise / 10),
        "turned.npz",
    )
    ea.save(
        model.replace(
            **names, left=model.left[np.random.default_rng(5).permutation(40)]
        ),
        "shuffled.npz",
    )
    ea.save(
        model.replace(right=model.right[5:], right_ids=ids[5:], left_ids=np.arange(40)),
        "fewer.npz",
    )
    np.save("items.npy", model.right)
    np.save(
        "unit.npy", model.right / np.linalg.norm(model.right, axis=1, keepdims=True)
    )
    np.save("users.npy", model.left)
    np.save("wide.npy", np.ascontiguousarray(model.right.T))
    save_file(
        {"lm_head.weight": model.right, "model.norm.weight": np.arange(4.0) + 1},
        "head.safetensors",
    )
    np.savez("head.npz", weight=model.right + 1, bias=np.arange(30) / 10)
    Path("labels.txt").write_text("".join(f"label {n}\n" for n in range(30)))
    films = [f"i{n},Film {n},{'abc'[n % 3]}" for n in range(30)]
    Path("films.csv").write_text("\n".join(["id,title,kind", *films]))
    Path("ends.csv").write_text(
        "\n".join(["word,ends", *(f"i{n},{'abc'[n % 3]}" for n in range(30))])
    )
    lists = sorted({(u, i) for u, i in draw.integers([20, 30], size=(300, 2)).tolist()})
    times = "".join(f"{u},i{i},{(u * i) % 5 + 1},{u + i}\n" for u, i in lists)
    Path("ratings.csv").write_text("user,item,rating,time\n" + times + times[:9])
    np.savez("x.npz", **{f"layer{n}": draw.standard_normal((4, 3)) for n in range(3)})
    np.savez(
        "y.npz",
        **{f"layer{n}": draw.standard_normal((4, 3)) for n in range(3)},
        late=np.ones(2),
    )
    group = np.repeat(np.arange(4), 25)
    x = 2 * group + draw.standard_normal(100)
    y = 3 * group - (x - 2 * group) + draw.standard_normal(100) / 2
    pd.DataFrame({"x": x, "y": y, "ward": group, "coin": np.tile([1, 2], 50)}).to_csv(
        "cases.csv", index=False
    )


def written(names):
    """Return what stands in files that a command wrote: the texts of pages and of their figures, a block a line."""
    lines = []
    for name in names:
        text = (
            Path(name).read_text(encoding="utf-8")
            if name.endswith((".html", *AS_THEY_ARE))
            else ""
        )
        if name.endswith(".html"):
            page = re.sub(
                r"<(script|style).*?</(script|style)>", " ", text, flags=re.DOTALL
            )
            blocks = map(
                text_of,
                re.split(
                    r"</?(?:h\d|p|li|tr|d[dt]|b|caption|figcaption|figure)\b[^>]*>",
                    page,
                ),
            )
            lines += [line for block in blocks for line in wrap(block, 110)]
        elif name.endswith((".json", ".sarif")):
            lines += leaves(json.loads(text, parse_float=shortened))
        else:
            lines += text.splitlines()
    return lines


def shortened(number):
    """Return a number with three digits; what only rounding may have left is zero."""
    return float(f"{round(float(number), 9) + 0.0:.3g}")


def leaves(value, path=""):
    """Return plain values a line each, and lists and records of plain values a line each."""
    places = list(
        value.items()
        if isinstance(value, dict)
        else enumerate(value if isinstance(value, list) else ())
    )
    if not any(isinstance(each, dict | list) for _, each in places):
        return [
            f"{path}: {FINGERPRINT.sub('...', json.dumps(value, ensure_ascii=False))}"
        ]
    return [line for name, each in places for line in leaves(each, f"{path}.{name}")]


@as_locked
@pytest.mark.usefixtures("_inputs")
@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.stem)
def test_commands_print_and_write_what_they_did(embaudit, path):
    lines = []
    for typed in [
        line
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("$ ")
    ]:
        if not typed.startswith("$ embaudit "):
            subprocess.run(typed[2:], shell=True, check=True)
            lines.append(typed)
            continue
        words, before = shlex.split(typed)[2:], times()
        done = embaudit(*words)
        text = f"{done.out}{done.err}"
        if words == ["doctor"]:
            text = VERSIONS.sub(r"\1...", text)
        new = [
            word
            for word in words
            if Path(word) in {path for path, _ in times().items() - before.items()}
        ]
        lines += [
            typed,
            *[f"[{done.code}]"][: done.code],
            *text.splitlines(),
            *written(new),
            "",
        ]
        if done.code == 2:
            # Above what typer refuses itself the usage stands.
            assert done.err.splitlines()[-1].startswith(("embaudit: ", "Error: ")), (
                typed
            )
            assert done.out == "", typed
            assert before == times(), typed
    assert_snapshot(
        path, "\n".join(line.rstrip() for line in lines).replace(str(Path.cwd()), ".")
    )
