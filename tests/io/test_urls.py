"""Models by URL are read like files, named by their URL, and opened by workers."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from embaudit.errors import InputError
from embaudit.io import inspect, load, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = np.random.default_rng(0).standard_normal((9, 3)).astype(np.float32)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Callable[[Path | np.ndarray, str], str]]:
    """Put an array, a file or a folder under a URL in memory."""
    files = fsspec.filesystem("memory")

    def put(what: Path | np.ndarray, name: str) -> str:
        if isinstance(what, np.ndarray):
            np.save(tmp_path / name, what)
            what = tmp_path / name
        files.put(str(what), f"/models/{name}", recursive=what.is_dir())
        return f"memory://models/{name}"

    yield put
    files.rm("/models", recursive=True)


def test_a_url_reads_as_its_file_does(elsewhere: Any, tmp_path: Path) -> None:
    url = elsewhere(ROWS, "v.npy")
    found = read(url)
    assert found.model.right.tolist() == ROWS.tolist()
    assert found.intake.files == (url,)
    assert inspect(url).files == (url,)
    assert found.intake.parts[0].name == url
    local = tmp_path / "v.npy"
    assert load(local.as_uri()).right.tolist() == ROWS.tolist()


def test_files_of_one_name_do_not_mix(elsewhere: Any, tmp_path: Path) -> None:
    """Two URLs with one file name are two files, and a new state does not replace an
    old one.
    """
    first, second = (load(elsewhere(k * ROWS, f"v{k}.npy")) for k in (1, 2))
    files = fsspec.filesystem("memory")
    for k in (1, 2):
        files.copy(f"/models/v{k}.npy", f"/models/{k}/v.npy")
    one, two = (load(f"memory://models/{k}/v.npy") for k in (1, 2))
    files.copy("/models/v2.npy", "/models/1/v.npy")
    changed = load("memory://models/1/v.npy")
    assert one.right.tolist() == first.right.tolist() == ROWS.tolist()
    for model in (two, changed, second):
        assert model.right.tolist() == (2 * ROWS).tolist()


def test_a_folder_keeps_its_folders(elsewhere: Any, tmp_path: Path) -> None:
    """Spark writes both sides in files of one name."""
    for name, ids in (("userFactors", [1, 2, 3]), ("itemFactors", [4, 5, 6])):
        (tmp_path / "als" / name).mkdir(parents=True)
        columns = {"id": ids, "features": ROWS[: len(ids)].tolist()}
        parquet.write_table(
            pa.table(columns), tmp_path / "als" / name / "part-0.parquet"
        )
    local = load(tmp_path / "als")
    remote = load(elsewhere(tmp_path / "als", "als"))
    assert remote.left_ids.tolist() == local.left_ids.tolist() == [1, 2, 3]
    assert remote.right_ids.tolist() == local.right_ids.tolist() == [4, 5, 6]


def test_errors_name_the_url(elsewhere: Any, tmp_path: Path) -> None:
    harmed = ROWS.copy()
    harmed[5, 1] = np.nan
    url = elsewhere(harmed, "w.npy")
    sentence = (
        f"{url}: item factors must be finite; got nan at row 5, column 1; "
        "repair or drop that row."
    )
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        load(url)
    (tmp_path / "x.npy").write_bytes(b"nothing")
    with pytest.raises(
        InputError, match=r"^memory://models/x.npy must be a valid .npy file"
    ):
        load(elsewhere(tmp_path / "x.npy", "x.npy"))


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (
            "nowhere://a/v.npy",
            "the URL must be of a scheme that fsspec knows, such as s3, gs or https; "
            "got 'nowhere'.",
        ),
        (
            "memory://none.npy",
            "the input must be a file that exists; got memory://none.npy; "
            "check the URL.",
        ),
    ],
)
def test_what_cannot_be_reached_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load(url)
    assert str(caught.value) == sentence


def test_libraries_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(InputError) as caught:
        load("s3://a/v.npy")
    assert (
        str(caught.value)
        == "reading s3://a/v.npy needs another library: Install s3fs to access S3."
    )
    for name in [name for name in sys.modules if name.startswith("fsspec")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError) as caught:
        load("s3://a/v.npy")
    assert (
        str(caught.value)
        == "reading s3://a/v.npy needs fsspec: pip install 'embaudit[remote]'."
    )


def test_secrets_of_a_url_are_shown_nowhere(
    elsewhere: Any, embaudit: Any, tmp_path: Path
) -> None:
    """User, password and query are not part of screens, JSON, pages or refusals."""
    elsewhere(ROWS, "v.npy")
    files = fsspec.filesystem("memory")
    folder = "/user:s3cret@models"
    files.copy("/models/v.npy", f"{folder}/v.npy?token=t0ken")
    url = f"memory:/{folder}/v.npy?token=t0ken"
    try:
        found = embaudit(
            *("audit", url, "--quick", "--full"),
            *("--json", "a.json", "--out", "a.html", "--junit", "a.xml"),
        )
        assert found.code == 0, found.err
        lost = embaudit("audit", url.replace("v.npy", "none.npy"))
        assert lost.code == 2
    finally:
        files.rm(folder, recursive=True)
    written = [Path(name).read_text() for name in ("a.json", "a.html", "a.xml")]
    for text in (found.out, found.err, lost.err, *written):
        assert "s3cret" not in text
        assert "t0ken" not in text
    assert "memory://models/v.npy" in written[0]


@pytest.mark.parametrize("url", ["reference://a.npy", "dir://a.npy", "dir::memory://a"])
def test_chained_file_systems_are_refused_in_one_sentence(url: str) -> None:
    with pytest.raises(InputError):
        load(url)
