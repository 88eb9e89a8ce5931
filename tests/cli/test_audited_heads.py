"""`embaudit audit --kind head` on real heads: it warns if the origin decides the
neighbours, and does not warn otherwise.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file


@pytest.mark.parametrize(
    ("name", "changed"), [("off_centre", 0.3375), ("nearly_centred", 0.0125)]
)
def test_drawn_heads_alarm_or_are_quiet(embaudit, drawn_heads, name, changed):
    file = drawn_heads / f"{name}.csv"
    result = embaudit(
        "audit",
        file,
        "--kind",
        "head",
        "--json",
        "a.json",
        "--n-gauges",
        1,
        "--fail-on",
        "issue",
    )
    found = json.loads(Path("a.json").read_text())
    alarms = name == "off_centre"
    assert result.code == alarms
    assert ("EMB301" in [finding["code"] for finding in found["findings"]]) == alarms
    assert found["head"]["neighbours"]["top1_changed"] == changed
    assert (
        "so the origin that cosines are measured from is a convention"
        in found["verdict"]
    ) == alarms
    assert ("Subtracting the mean row changes little: " in found["verdict"]) != alarms
    assert all(record["ok"] for record in found["drift"])


def test_a_checkpoint_is_audited_with_the_cap_of_its_configuration(embaudit, tmp_path):
    draw = np.random.default_rng(0)
    weights = (draw.standard_normal((30, 6)) + 1.5).astype(np.float32)
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    save_file({"lm_head.weight": weights}, folder / "model.safetensors")
    found = {}
    for name, cap, options in (
        ("plain", None, ()),
        ("declared", None, ("--soft-cap", 30)),
        ("configured", 30.0, ()),
        ("other", 30.0, ("--soft-cap", 50)),
    ):
        (folder / "config.json").write_text(
            json.dumps({"final_logit_softcapping": cap})
        )
        result = embaudit(
            "audit",
            folder,
            "--n-gauges",
            1,
            "--n-starts",
            0,
            "--json",
            f"{name}.json",
            *options,
        )
        assert result.code == 0, result.err
        found[name] = json.loads(Path(f"{name}.json").read_text())
    assert found["configured"]["model"]["link"] == "softmax"
    assert "soft-cap of 30" in json.dumps(found["configured"])
    assert "soft-cap of 50" in json.dumps(found["other"])
    assert "soft-cap" not in json.dumps(found["plain"]["head"])
    for part in ("head", "movement", "drift", "findings", "verdict"):
        assert found["configured"][part] == found["declared"][part]
        assert found["configured"][part] != found["plain"][part]
