"""Every command that an audit suggests runs in a shell without changes."""

from __future__ import annotations

import json
import os
import re
import subprocess

import numpy as np
import pytest
from browsing import text_of
from safetensors.numpy import save_file

import embaudit as ea

pytestmark = pytest.mark.slow

SMALL = "--n-gauges 1"
LONG = "models/of the recommender/2026-11-29/nightly.npz"
PLACEHOLDERS = {
    "ROWS.npy": "items.npy",
    "OTHER-SIDE.npy": "users.npy",
    "INPUTS.npy": "users.npy",
}
"""What the screen asks to put something of one's own for."""
CLIP = "clip.npz --left text --weight image --left-name text --right-name image"
KINDS = {
    "recommender": ("recommender.npz", ["fix"]),
    "ids and titles": (
        "ids.npz --items 'my films.csv' --show 101",
        ["fix", "evaluate"],
    ),
    "titles alone": ("ids.npz --items titles.csv", ["fix"]),
    "vectors and labels": (
        "vectors.npz --items 'my films.csv'",
        ["audit", "audit", "evaluate"],
    ),
    "rows named": (
        "vectors.npz --items 'my films.csv' --show 101 --show 102",
        ["audit", "audit", "evaluate"],
    ),
    "table": (
        "words.csv --show 'w 3' --n-neighbours 5",
        ["audit", "audit"],
    ),
    "one side": ("items.npy --max-condition 1.5", ["audit", "audit"]),
    "two files": ("items.npy --left-file users.npy --role user", ["fix"]),
    "head": (
        "head.npz --kind head --labels labels.txt --soft-cap 30",
        ["audit", "fix"],
    ),
    "language model": ("'language model' --norm-kind rms", ["fix", "fix"]),
    "folder with spaces": ('"my models/it\'s.npz" --objective none', ["fix"]),
    "clip": (CLIP, ["audit", "audit", "fix"]),
    "long path": (f"'{LONG}'", ["fix"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a model of each kind, and an `embaudit` that prints its arguments."""
    place = tmp_path_factory.mktemp("models")
    draw = np.random.default_rng(0)
    users, items, texts = (
        (draw.standard_normal((n, 8)) * np.linspace(3, 0.5, 8)).astype("f4")
        for n in (60, 40, 50)
    )
    (place / "my models").mkdir()
    (place / LONG).parent.mkdir(parents=True)
    for name in ("recommender", "my models/it's", LONG.removesuffix(".npz")):
        np.savez(place / f"{name}.npz", user_factors=users, item_factors=items)
    np.save(place / "users.npy", users)
    np.save(place / "items.npy", items)
    ea.save(
        ea.FactorModel.from_user_item(users, items, item_ids=np.arange(100, 140)),
        place / "ids.npz",
    )
    films = [f"{i},A film called {i},{'ab'[i % 2]}" for i in range(100, 140)]
    (place / "my films.csv").write_text("\n".join(["id,title,kind", *films]))
    (place / "titles.csv").write_text(
        "\n".join(["id,title", *(f"{i},Film {i}" for i in range(100, 140))])
    )
    ea.save(
        ea.FactorModel.from_vectors(items, ids=np.arange(100, 140)),
        place / "vectors.npz",
    )
    rows = [
        ",".join([f"w {i}", *map(str, row)]) for i, row in enumerate(items.tolist())
    ]
    (place / "words.csv").write_text("\n".join(["word,d0,d1,d2,d3,d4,d5,d6,d7", *rows]))
    np.savez(place / "head.npz", weight=items + 2, bias=np.arange(40) / 10)
    (place / "labels.txt").write_text("".join(f"label {i}\n" for i in range(40)))
    (place / "language model").mkdir()
    tensors = {
        "model.embed_tokens.weight": items + 1,
        "model.norm.weight": np.linspace(0.5, 2, 8, dtype="f4"),
    }
    save_file(tensors, place / "language model" / "model.safetensors")
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "tie_word_embeddings": True,
    }
    (place / "language model" / "config.json").write_text(json.dumps(config))
    text, image = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (texts, items)
    )
    np.savez(place / "clip.npz", text=text, image=image)
    (place / "bin").mkdir()
    script = place / "bin" / "embaudit"
    script.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    script.chmod(0o755)
    return place


@pytest.fixture
def shell(folder, embaudit, monkeypatch):
    """Return a function that runs a line in a shell in that folder and returns the
    arguments.
    """
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
    }
    monkeypatch.chdir(folder)

    def run(line):
        split = subprocess.run(
            line,
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        done = embaudit(*split.stdout.split("\0")[:-1])
        assert done.code == 0, (line, done.err)
        return done.out

    return run


def suggested(screen):
    """Return the lines that a screen says to type."""
    lines = screen.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.startswith("  embaudit ")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_suggested_command_runs_and_repeats_what_was_typed(kind, shell):
    typed, expected = KINDS[kind]
    screen = shell(f"embaudit audit {typed} {SMALL} --full")
    commands = suggested(screen)
    assert all("FILE" not in line for line in commands)
    assert [line.split()[1] for line in commands] == expected
    for asked in commands:
        line = asked
        for placeholder, own in PLACEHOLDERS.items():
            line = line.replace(placeholder, own)
        assert shell(f"{line}{' --force' * (' fix ' in line)}")
        options = (
            [] if "ROWS.npy" in asked else re.findall(r"--[\w-]+", f"{typed} {SMALL}")
        )
        if line.startswith("embaudit audit"):
            assert set(options) <= set(line.split())
        else:
            assert not {"--n-gauges", "--show", "--n-neighbours", "--soft-cap"} & set(
                line.split()
            )


def test_sides_have_the_names_that_were_typed_on_screens_pages_and_in_json(
    shell, folder
):
    outputs = "--out clip.html --json clip.json"
    shown = shell(f"embaudit audit {CLIP} {SMALL} --link identity --full {outputs}")
    page = text_of(
        (folder / "clip.html").read_text().split("</style>")[1].split("<script")[0]
    )
    answers = [
        "NO: models that predict exactly the same have other cosines.",
        "text-image",
        "images whitened",
    ]
    for text in (shown, page):
        # `--items` is the name of an option, whatever the rows are called.
        said = text.replace("--items", "")
        assert not re.search(r"\b(user|item)s?\b", said, re.IGNORECASE)
        assert all(
            answer.split(": ")[-1].lower() in " ".join(text.split()).lower()
            for answer in answers
        )
    record = json.loads((folder / "clip.json").read_text())
    assert record["model"]["roles"] == ["text", "image"]
    sentences = json.dumps([record["verdict"], record["findings"], record["answer"]])
    assert not re.search(r"\b(user|item)s?\b", sentences.replace("--items", ""))


def test_sides_have_names_in_python():
    draw = np.random.default_rng(0)
    right, left = draw.normal(size=(20, 3)), draw.normal(size=(9, 3))
    found = ea.audit(right, left=left, left_name="text", right_name="image", quick=True)
    assert "image-image cosines" in found.answer.question
    assert found.model.roles == ("text", "image")
    renamed = ea.audit(found.model, left_name="caption", quick=True)
    assert renamed.model.roles == ("caption", "image")


def test_a_table_without_titles_is_no_option_of_fix(shell, folder):
    lines = [f"{n},{'ab'[n % 2]}" for n in range(100, 140)]
    (folder / "kinds.csv").write_text("\n".join(["id,kind", *lines]))
    picture = "--items kinds.csv --heatmap-groups kind --heatmap kinds.svg"
    commands = suggested(shell(f"embaudit audit ids.npz {picture} {SMALL} --full"))
    assert {line.split()[1] for line in commands} == {"fix", "evaluate"}
    for line in commands:
        assert ("--items kinds.csv" in line) == (" evaluate " in line)
        assert shell(f"{line}{' --force' * (' fix ' in line)}")


@pytest.mark.parametrize("separator", ["|", ", "])
def test_labels_of_a_column_are_judged_one_by_one_in_the_suggested_evaluation(
    shell, folder, separator
):
    """Half of the films are drama and comedy, and a quarter each is one of the two."""
    cells = [f"Drama{separator}Comedy", "Drama", f"Comedy{separator}Drama", "Comedy"]
    lines = [f'{n},Film {n},"{cells[n % 4]}"' for n in range(100, 140)]
    (folder / "genres.csv").write_text("\n".join(["id,title,genres", *lines]))
    screen = shell(f"embaudit audit ids.npz --items genres.csv {SMALL} --full")
    command = next(line for line in suggested(screen) if " evaluate " in line)
    judged = shell(command)
    assert f"judged by genres, split at '{separator}': 40 of 40 items" in judged
    # The 20 films of both kinds share a label with all others, and so are not asked.
    # The other 20 share one with the 9 of their own kind and the 20 of both: 29 of 39.
    assert "by chance it would be 74 %" in " ".join(judged.split())


@pytest.mark.parametrize("file", ["ids.npz", "vectors.npz"])
def test_the_commands_that_sentences_name_run_with_the_arguments_that_they_name(
    shell, folder, file
):
    """Names in capitals stand for what a reader has."""
    lines = [f"{n % 5},{100 + n}" for n in range(40)]
    (folder / "held-out.csv").write_text("\n".join(["user,item", *lines]))
    screen = " ".join(shell(f"embaudit audit {file} {SMALL}").split())
    commands = re.findall("`(embaudit [^`]+)`", screen)
    assert [line.split()[1] for line in commands] == ["evaluate", "compare"]
    own = {
        "FILE": file,
        "HELD-OUT": "held-out.csv",
        "TITLES": "'my films.csv'",
        "COLUMN": "kind",
        "OTHER_SEED": file,
    }
    for command in commands:
        words = [own.get(word, word) for word in command.split()]
        assert shell(" ".join(words))
