"""`embaudit audit --resume`: what is finished is kept until the outputs are there."""

from __future__ import annotations

import json

import pytest
from models import random_model

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io.pieces.folder import Pieces

AUDIT = ("audit", "m.npz", "--gauges", 1, "--quiet")


@pytest.fixture
def model(tmp_path):
    ea.save(random_model(n=20, p=15, k=3, objective="product"), tmp_path / "m.npz")
    return tmp_path / "m.npz"


@pytest.mark.usefixtures("without_attacks", "model")
def test_pieces_outlive_a_page_that_cannot_be_written(embaudit, tmp_path, monkeypatch):
    def full(*given):
        raise InputError("a.html cannot be written: no space left.")

    assert embaudit(*AUDIT, "--json", "alone.json").code == 0
    with monkeypatch.context() as patched:
        patched.setattr("embaudit.report.page.page", full)
        failed = embaudit(*AUDIT, "--resume", "pieces", "--out", "a.html", "--json", "a.json")
    assert (failed.code, failed.err) == (2, "embaudit: a.html cannot be written: no space left.\n")
    kept = {path.name for path in (tmp_path / "pieces").glob("*.piece")}
    assert len(kept) > 7
    monkeypatch.setattr(Pieces, "keep", None)  # nothing is done again
    assert embaudit(*AUDIT, "--resume", "pieces", "--json", "a.json").code == 0
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads((tmp_path / "alone.json").read_text())
    assert list((tmp_path / "pieces").iterdir()) == []


@pytest.mark.usefixtures("model")
def test_a_file_is_no_folder_to_resume_in(embaudit):
    refused = embaudit(*AUDIT, "--resume", "m.npz", "--json", "a.json")
    sentence = (
        "the folder to resume in must be a folder; got the file m.npz; name a folder, which need not be there yet."
    )
    assert (refused.code, refused.out, refused.err) == (2, "", f"embaudit: {sentence}\n")
