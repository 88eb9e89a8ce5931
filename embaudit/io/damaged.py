"""Errors of other libraries at damaged files, in one line."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError

from embaudit.errors import InputError, Sentence

READ_ERRORS = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    MemoryError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    AttributeError,
    IndexError,
    TokenError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""Errors of numpy and zipfile at a file that is cut off, altered, or something else
altogether.
"""


def reason(error: BaseException) -> str:
    """Return the first line of an error, short enough for a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200]


def unreadable(name: Path | Sentence, whole: str, error: BaseException) -> InputError:
    """Return the refusal of an array or a file that is pickled, cut off or altered."""
    if "Python objects" in str(error) or "allow_pickle" in str(error):
        return InputError(
            "{} must be a plain array; got a pickle, which could run code; save it as "
            "numbers or text.",
            name,
        )
    return InputError(
        "{} must be {}; it cannot be read ({}); save it again.",
        name,
        whole,
        reason(error),
    )
