"""Ctrl-C at a random moment ends an audit of 2,000,000 rows within seconds, with one
line and exit code 130.

`EMBAUDIT_INTERRUPTED=10` sets the number of interrupted audits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

NUMBER = int(os.environ.get("EMBAUDIT_INTERRUPTED", "2"))
SEED = int(os.environ.get("EMBAUDIT_INTERRUPTED_SEED", "0"))
PATIENCE = float(os.environ.get("EMBAUDIT_INTERRUPTED_PATIENCE", "3"))
"""Seconds of an idle machine."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "x.npy"
    stored = np.lib.format.open_memmap(path, "w+", np.float32, (2_000_000, 16))
    draw = np.random.default_rng(0)
    for start in range(0, len(stored), 100_000):
        stored[start : start + 100_000] = draw.standard_normal(
            (100_000, 16), dtype=np.float32
        )
    stored.flush()
    return path


def busy():
    """Seconds of the processors that everything needed so far: beside other work an
    interrupted run waits longer.
    """
    return os.getloadavg()[0] / (os.cpu_count() or 1)


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform == "win32", reason="SIGINT is sent to another process only on Unix"
)
@pytest.mark.parametrize("number", range(NUMBER))
def test_ctrl_c_ends_a_large_audit(rows, number):
    # A shell makes programs that it runs in the background ignore Ctrl-C, and programs
    # that these start inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    draw = np.random.default_rng([SEED, number])
    command = [sys.executable, "-m", "embaudit", "audit", str(rows)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            time.sleep(draw.uniform(1, 6))  # the audit itself takes longer
            run.send_signal(signal.SIGINT)
            pressed = time.perf_counter()
            _, said = run.communicate(timeout=60)
        finally:
            run.kill()
    waited = time.perf_counter() - pressed
    # If Ctrl-C meets Python while it makes a dataclass, Python ends itself by the
    # signal, which a shell shows as 130, too.
    assert run.returncode in (130, -signal.SIGINT), said
    assert said.splitlines()[-1] == "embaudit: stopped by Ctrl-C."
    assert "Traceback" not in said
    assert waited < PATIENCE * max(1.0, busy())
