"""`compare`, `evaluate`, `blocks` and `simpson` write pages and comments that say where the numbers came from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

FOUND = {
    "compare": ("compare", "one.npz", "two.npz", "--by-row", "--seed", 5),
    "evaluate": ("evaluate", "one.npz", "--items", "items.csv", "--truth", "kind", "--top", 3, "--by-row", "--seed", 5),
    "blocks": ("blocks", "x.npz", "y.npz"),
    "simpson": ("simpson", "table.csv", "--x", "dose", "--y", "health", "--permutations", 9, "--seed", 5),
}
READ = {
    "compare": ("one.npz", "Q (15 × 3) as right factors.", "two.npz", "Left over: spare (2)."),
    "evaluate": ("judged by kind: 15 of 15 items matched by row.", "one.npz", "Read as npz: P (20 × 3)"),
    "blocks": ("x.npz", "y.npz"),
    "simpson": ("table.csv",),
}  # fmt: skip
TITLES = {
    "compare": "one.npz and two.npz",
    "evaluate": "which similarity serves kind best in one.npz",
    "blocks": "x.npz and y.npz",
    "simpson": "health on dose in table.csv",
}


@pytest.fixture
def inputs(tmp_path):
    draw = np.random.default_rng(0)
    left, right = draw.standard_normal((20, 3)), draw.standard_normal((15, 3))
    np.savez(tmp_path / "one.npz", P=left, Q=right)
    np.savez(tmp_path / "two.npz", P=left * [1, 2, 3], Q=right + 0.3, spare=np.ones(2))
    np.savez(tmp_path / "x.npz", a=left, b=right)
    np.savez(tmp_path / "y.npz", a=left + 1, b=right)
    (tmp_path / "items.csv").write_text("id,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(15)))
    rows = [f"{x + 6 * g},{10 - x + 12 * g},{'pq'[g]}" for g in (0, 1) for x in draw.uniform(0, 3, 20)]
    (tmp_path / "table.csv").write_text("dose,health,age\n" + "\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.parametrize("name", FOUND)
def test_a_page_says_what_was_read_and_by_which_seed(inputs, embaudit, name):
    assert embaudit(*FOUND[name], "--out", "page.html", "--quiet").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert f"<title>{TITLES[name]}</title>" in page
    intake = page.split('id="intake"')[1].split("</section>")[0]
    places = [intake.index(text) for text in READ[name]]
    assert places == sorted(places)
    assert ("<dt>seed</dt><dd>5</dd>" in page) == (name != "blocks")


@pytest.mark.parametrize("name", FOUND)
def test_a_comment_holds_what_the_terminal_says(inputs, embaudit, name):
    told = embaudit(*FOUND[name], "--markdown", "comment.md")
    assert told.code == 0
    text = Path("comment.md").read_text(encoding="utf-8")
    plain = text.replace("\\", "").replace("**", "")
    assert text.startswith("### embaudit: ")
    assert plain.splitlines()[0] == f"### embaudit: {TITLES[name]}"
    assert text.rstrip().endswith("embaudit 0.1.0" + ", seed 5" * (name != "blocks"))
    said = " ".join(told.out.split()).removeprefix("judged by kind: 15 of 15 items matched by row. ")
    assert said[:60] in " ".join(plain.split())
    assert ("judged by kind: 15 of 15 items matched by row." in plain) == (name == "evaluate")
    again = embaudit(*FOUND[name], "--markdown", "comment.md")
    assert again.code == 2
    assert "comment.md" in again.err
    assert embaudit(*FOUND[name], "--markdown", "comment.md", "--force", "--quiet").code == 0
