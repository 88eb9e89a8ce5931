"""`embaudit verify` repeats the training that the JSON of an audit describes."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split

import numpy as np
import pytest

import embaudit as ea
from embaudit.io import read

SMALL_AUDIT = {"n_gauges": 1, "n_starts": 0, "quick": True}


@pytest.fixture
def audited(embaudit):
    """Return a function that audits v.npy with some options and writes audit.json."""
    np.save("v.npy", np.random.default_rng(0).normal(size=(30, 4)))

    def audit(options):
        made = embaudit(
            *split("audit v.npy --quick --n-starts 0 --json audit.json"),
            *split(options),
        )
        assert made.code == 0

    return audit


@pytest.mark.parametrize(
    ("of_audit", "repeated"),
    [
        ("--compared cosine", ""),
        ("--compared cosine", "--compared cosine"),
        ("--objective bge", "--objective bge"),
        # The two words are names of one training.
        ("--objective bge", "--objective e5"),
        ("", ""),
    ],
)
def test_an_audit_is_verified_with_its_own_training(
    embaudit, audited, of_audit, repeated
):
    audited(of_audit)
    verified = embaudit("verify", "audit.json", "v.npy", *split(repeated))
    assert verified.code == 0
    assert verified.out.startswith("All agrees: ")


@pytest.mark.parametrize(
    ("of_audit", "repeated", "sentence"),
    [
        (
            "--compared cosine",
            "--compared dot",
            "--compared must be as in the audit, which declares --compared cosine; "
            "got 'dot'.",
        ),
        (
            "--compared cosine",
            "--objective als",
            "--objective must be as in the audit, which declares --compared cosine; "
            "got 'als'.",
        ),
        (
            "--objective bge",
            "--objective word2vec",
            "--objective must be as in the audit, which declares --objective bge; "
            "got 'word2vec'.",
        ),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        "verify audit.json v.npy",
        "gauge v.npy --from audit.json --name 'orthogonal 1' --out g.npz",
    ],
)
def test_another_training_than_that_of_the_audit_is_refused(
    embaudit, audited, command, of_audit, repeated, sentence
):
    audited(of_audit)
    refused = embaudit(*split(command), *split(repeated))
    assert refused.code == 2
    assert refused.out == ""
    assert refused.err.splitlines()[-1] == f"embaudit: {sentence}"


def test_a_training_that_the_model_was_read_with_is_repeated(embaudit):
    """Such an audit declares no training, because the training was read."""
    np.save("v.npy", np.random.default_rng(0).normal(size=(30, 4)))
    reading = read("v.npy", compared="cosine")
    audited = ea.audit(reading, source="v.npy", **SMALL_AUDIT)
    Path("audit.json").write_text(json.dumps(audited.to_dict()))
    again = embaudit("verify", "audit.json", "v.npy", "--compared", "cosine")
    assert again.code == 0
    other = embaudit("verify", "audit.json", "v.npy", "--compared", "dot")
    assert other.code == 1
    assert "this model read with other options" in other.out
