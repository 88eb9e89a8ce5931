"""No command shows user, password, query or fragment of a URL.

This holds for screens, files and refusals.
"""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

FOLDER = "/user:s3cret@models"
QUERY = "?token=t0ken&at=1:t1me#fr4gment/of:p4ge"
SECRETS = ("s3cret", "user:", "t0ken", "t1me", "fr4gment", "p4ge")


def url(name: str) -> str:
    return f"memory:/{FOLDER}/{name}{QUERY}"


FILES = (
    *("model.npz", "twin.npz", "head.npz", "x.npz", "y.npz", "items.npy", "users.npy"),
    *("films.csv", "ratings.csv", "cases.csv", "labels.txt"),
)
WRITTEN = ("--json", "r.json", "--out", "r.html", "--markdown", "r.md")
COMMANDS = {
    "compare": ("compare", url("model.npz"), url("twin.npz"), "--full", *WRITTEN),
    "compare with titles": (
        *("compare", url("model.npz"), url("twin.npz")),
        *("--items", url("films.csv"), *WRITTEN),
    ),
    "fix": ("fix", url("model.npz"), "--out", "r.csv"),
    "fix to npz": ("fix", url("model.npz"), "--out", "r.npz"),
    "evaluate by labels": (
        *("evaluate", url("model.npz"), "--items", url("films.csv")),
        *("--truth", "kind", "--full", *WRITTEN),
    ),
    "evaluate by interactions": (
        *("evaluate", url("model.npz"), "--interactions", url("ratings.csv")),
        *("--last", "2", "--time", "time", "--full", *WRITTEN),
    ),
    "gauge": ("gauge", url("model.npz"), "--out", "r.npz"),
    "blocks": ("blocks", url("x.npz"), url("y.npz"), "--full", *WRITTEN),
    "formats": ("formats", url("model.npz")),
    "formats with a left side": (
        *("formats", url("items.npy"), "--left-file", url("users.npy")),
    ),
    "formats with labels": ("formats", url("head.npz"), "--labels", url("labels.txt")),
    "simpson": (
        *("simpson", url("cases.csv"), "--x", "x", "--y", "y", "--min-size", "2"),
        *("--groups", "ward", "--n-permutations", "9", "--full", *WRITTEN),
    ),
    "fit": (
        *("fit", url("ratings.csv"), "--objective", "product", "--out", "r.npz"),
        *("--n-components", "2"),
    ),
}
"""Commands that succeed: each file they read has a URL with secrets."""
REFUSED = {
    "compare: no file": ("compare", url("none.npz"), url("twin.npz")),
    "compare: no second file": ("compare", url("model.npz"), url("none.npz")),
    "compare: a table": ("compare", url("model.npz"), url("films.csv")),
    "compare: no column": (
        *("compare", url("model.npz"), url("twin.npz"), "--items", url("films.csv")),
        *("--title", "none"),
    ),
    "compare: labels": (
        *("compare", url("model.npz"), url("twin.npz"), "--labels", url("films.csv")),
    ),
    "fix: no file": ("fix", url("none.npz"), "--out", "r.csv"),
    "fix: output": ("fix", url("model.npz"), "--out", url("r.csv")),
    "evaluate: no column": (
        *("evaluate", url("model.npz"), "--items", url("films.csv")),
        *("--truth", "none"),
    ),
    "evaluate: no interactions": (
        *("evaluate", url("model.npz"), "--interactions", url("none.csv")),
    ),
    "evaluate: no column of times": (
        *("evaluate", url("model.npz"), "--interactions", url("ratings.csv")),
        *("--last", "2", "--time", "none"),
    ),
    "gauge: no file": ("gauge", url("none.npz"), "--out", "r.npz"),
    "gauge: no record": (
        *("gauge", url("model.npz"), "--from", url("films.csv")),
        *("--name", "linear 1", "--out", "r.npz"),
    ),
    "gauge: ids": (
        *("gauge", url("items.npy"), "--ids", url("labels.csv"), "--out", "r.npz"),
    ),
    "gauge: output": ("gauge", url("model.npz"), "--out", url("r.npz")),
    "blocks: no file": ("blocks", url("x.npz"), url("none.npz")),
    "blocks: other names": ("blocks", url("x.npz"), url("model.npz")),
    "formats: no file": ("formats", url("none.npz")),
    "formats: no model": ("formats", url("cases.csv"), "--weight", "none"),
    "simpson: no column": (
        *("simpson", url("cases.csv"), "--x", "x", "--y", "none", "--groups", "ward"),
    ),
    "simpson: no file": (
        *("simpson", url("none.csv"), "--x", "x", "--y", "y", "--groups", "ward"),
    ),
    "fit: no interactions": (
        *("fit", url("labels.txt"), "--objective", "product", "--out", "r.npz"),
    ),
}
"""Commands that are refused."""


@pytest.fixture
def elsewhere(inputs):
    """Put the inputs under URLs that hold user, password, query and fragment."""
    files = fsspec.filesystem("memory")
    for name in FILES:
        files.pipe(f"{FOLDER}/{name}{QUERY}", Path(name).read_bytes())
        # What is read has to come from the URL.
        Path(name).unlink()
    yield files
    files.rm(FOLDER, recursive=True)


def require_no_secret(*texts):
    for text in texts:
        for secret in SECRETS:
            assert secret not in text


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_no_screen_and_no_written_file_shows_the_secrets_of_a_url(embaudit, arguments):
    found = embaudit(*arguments)
    assert found.code == 0, found.err
    written = [path.read_bytes().decode("latin-1") for path in Path().glob("r.*")]
    assert len(written) == sum(
        word in ("--out", "--json", "--markdown") for word in arguments
    )
    require_no_secret(found.out, found.err, *written)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_no_refusal_shows_the_secrets_of_a_url(embaudit, arguments):
    found = embaudit(*arguments)
    assert found.code == 2, found.out
    assert found.err.count("\n") <= 2
    require_no_secret(found.out, found.err)
