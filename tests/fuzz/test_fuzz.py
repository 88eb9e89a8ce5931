"""Reading a damaged file returns a result or raises `InputError`, in short time and
little memory.

`EMBAUDIT_FUZZ=60000`, as in `make fuzz`, sets the number of files. Commands are slower
and use the same readers, so they get a third of this number.
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
from fuzz.seeds import COMMANDS, SEEDS, Ended

from embaudit.errors import InputError, escaped

pytestmark = pytest.mark.slow

NUMBER = int(os.environ.get("EMBAUDIT_FUZZ", "800"))
SEED = int(os.environ.get("EMBAUDIT_FUZZ_SEED", "0"))
MEGABYTES, SECONDS = 200, 10.0
MOST = 5
"""Kinds of faults of a file that are shown."""
ALL = (*SEEDS, *COMMANDS)
CASES = NUMBER // (len(SEEDS) + len(COMMANDS) // 3) + 1


def peak():
    """Return the most memory that this process ever had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fault(seed, folder):
    """Return what is wrong with how a damaged file is read, None where all is well."""
    before, start = peak(), time.perf_counter()
    try:
        if (said := unclear(seed.read(folder))) is not None:
            return said
    except InputError as error:
        if len(str(error).splitlines()) != 1 or str(error) != escaped(str(error)):
            return f"no sentence on one line: {error!r}"
    except Exception:
        return traceback.format_exc(limit=-4)
    if peak() - before > MEGABYTES:
        return f"{peak() - before:.0f} MB"
    return (
        f"{time.perf_counter() - start:.1f} s"
        if time.perf_counter() - start > SECONDS
        else None
    )


def unclear(ended):
    """Return what is wrong with how a command ended, None where it did as it should or
    none ran.
    """
    if not isinstance(ended, Ended) or ended.code in (0, 1):
        return None
    # Above what typer refuses itself the usage stands.
    lines = ended.error.rstrip("\n").splitlines()
    is_sentence = bool(lines) and lines[-1].startswith(("embaudit: ", "Error: "))
    return None if ended.code == 2 and is_sentence else f"ended with {ended}"


@pytest.mark.parametrize(
    "place", range(len(ALL)), ids=[f"{i}-{seed.name}" for i, seed in enumerate(ALL)]
)
def test_damaged_files_are_read_or_refused_in_one_sentence(tmp_path, place):
    seed, file = ALL[place], tmp_path / ALL[place].name
    file.parent.mkdir(parents=True, exist_ok=True)
    seed.write(file)
    whole = file.read_bytes()
    assert unclear(seed.read(tmp_path)) is None
    faults = {}
    for number in range(CASES if place < len(SEEDS) else CASES // 3 + 1):
        content = damaged(
            seed.name, whole, np.random.default_rng([SEED, place, number])
        )
        file.write_bytes(content)
        found = fault(seed, tmp_path)
        if found is not None:
            faults.setdefault(found, (number, content[:200]))
            if len(faults) == MOST:
                break
    gc.collect()
    assert not faults, "\n\n".join(
        f"case {case}: {found}" for found, case in faults.items()
    )
