"""Whatever is wrong with a file, reading it ends in a result or in the house's error: quickly, and in little memory.

`EMBAUDIT_FUZZ=60000` tries as many files; `make fuzz` does.
"""

from __future__ import annotations

import gc
import os
import resource
import time
import traceback

import numpy as np
import pytest
from fuzz.damage import damaged
from fuzz.seeds import SEEDS

from embaudit.errors import InputError, escaped

NUMBER = int(os.environ.get("EMBAUDIT_FUZZ", "3000"))
SEED = int(os.environ.get("EMBAUDIT_FUZZ_SEED", "0"))
MEGABYTES, SECONDS = 500, 10.0


def peak():
    """Return the most memory that this process ever had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fault(seed, folder):
    """Return what is wrong with how a damaged file is read, None where all is well."""
    before, start = peak(), time.perf_counter()
    try:
        seed.read(folder)
    except InputError as error:
        if len(str(error).splitlines()) != 1 or str(error) != escaped(str(error)):
            return f"no sentence on one line: {error!r}"
    except Exception:
        return traceback.format_exc(limit=-4)
    if peak() - before > MEGABYTES:
        return f"{peak() - before:.0f} MB"
    return f"{time.perf_counter() - start:.1f} s" if time.perf_counter() - start > SECONDS else None


@pytest.mark.parametrize("place", range(len(SEEDS)), ids=[f"{i}-{seed.name}" for i, seed in enumerate(SEEDS)])
def test_damaged_files_are_read_or_refused_in_one_sentence(tmp_path, place):
    seed, file = SEEDS[place], tmp_path / SEEDS[place].name
    file.parent.mkdir(exist_ok=True)
    seed.write(file)
    whole = file.read_bytes()
    seed.read(tmp_path)
    faults = {}
    for number in range(NUMBER // len(SEEDS) + 1):
        content = damaged(seed.name, whole, np.random.default_rng([SEED, place, number]))
        file.write_bytes(content)
        found = fault(seed, tmp_path)
        if found is not None:
            faults.setdefault(found, (number, content[:200]))
    gc.collect()
    assert not faults, "\n\n".join(f"case {case}: {found}" for found, case in faults.items())
