"""The errors a user can mend, each one sentence on one line: name must be SET; got VALUE; what to do.

A sentence is written with options, `--kind=head`: `str` of an error turns them into keywords, `kind='head'`, the
command line into what one types, `--kind head`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from shlex import quote, split
from unicodedata import category

SECRETS = re.compile(
    r"""(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]+:/+)(?P<user>[^\s/'"]*@|[^\s/'":]+:(?!:|\d*/)[^\s'"?#]*@)?"""
    r"""(?P<path>(?:(?!::)[^\s?#'"])*)(?:[?#][^\s'"]*(?<![.,;:)]))?"""
)
"""A URL, with user, password, query and fragment between the parts that are shown.

Chained URLs such as `zip://v.npy::https://host/v.zip` are matched one by one. A password
may hold a slash, although it should be written as %2F.
"""
BEHIND_SPACES = re.compile(r"""(?<=[^\s'"])[?#][\w.%-]+=[^\s'"]*(?<![.,;:)])""")
"""The query or fragment of a URL whose path holds spaces."""
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that steer a terminal or a page, or cannot be encoded."""
JOINERS = "\u200c\u200d"
"""Letters of Persian and of Indian scripts, and emoji, are written with them."""

LONGEST = 300
"""Characters of what was given that an error shows; the longest name a file may have is shorter."""

OPTION = re.compile(
    r"""`[^`]*`|(?<![\w'"/-])--([a-z][a-z0-9-]*)(?:=((?:'[^']*'|"'"|[^\s'"\\])+?)(?=[.:;,)]*(?:\s|$)))?"""
)
"""An option in a sentence with its value, where it has one; what is in backticks is a command, and stays."""
FLAGS = (
    "binarise",
    "by-row",
    "force",
    "keep-empty",
    "normalised",
    "partial",
    "quick",
    "unit",
)
"""Options that take no value; in Python they are True."""
KEYWORDS = {"as": "as_"}
"""Options whose keyword in Python has another name."""


def escaped(text: str) -> str:
    r"""Write characters that act instead of being seen as escapes: control, bidi, line ends, lone surrogates.

    Examples
    --------
    >>> escaped("Heat (1995)"), escaped("a\n\x1b[2J")
    ('Heat (1995)', 'a\\n\\x1b[2J')
    """
    if text.isprintable():
        return text
    return "".join(
        repr(each)[1:-1] if category(each) in UNSEEN and each not in JOINERS else each
        for each in text
    )


def without_secrets(text: str) -> str:
    """Drop user, password, query and fragment of the URLs in a text.

    They may be secrets.

    Examples
    --------
    >>> without_secrets("https://me:secret@host/x.npy?token=abc cannot be read.")
    'https://host/x.npy cannot be read.'
    >>> without_secrets("the input is s3://models/x.npy?token=abc; check the URL.")
    'the input is s3://models/x.npy; check the URL.'
    >>> without_secrets("zip://x.npy::https://me:secret@host/x.zip#token=abc")
    'zip://x.npy::https://host/x.zip'
    """
    shown = SECRETS.sub(r"\g<scheme>\g<path>", text)
    return BEHIND_SPACES.sub("", shown) if SECRETS.search(shown) else shown


class InputError(ValueError):
    """Something the caller gave cannot be used; the command line turns it into exit code 2.

    Examples
    --------
    >>> error = InputError("name it with --weight=W, or go on with --partial.")
    >>> print(error)
    name it with weight=W, or go on with partial=True.
    >>> error.typed()
    'name it with --weight W, or go on with --partial.'
    """

    def __init__(self, sentence: str) -> None:
        # A file name or an id may hold characters that steer a terminal.
        super().__init__(escaped(without_secrets(sentence)))

    @property
    def sentence(self) -> str:
        """The sentence as it is written, to be put into another one."""
        return str(self.args[0])

    def __str__(self) -> str:
        return OPTION.sub(_keyword, self.sentence)

    def typed(self, options: Collection[str] = ()) -> str:
        """Write the sentence for the command line, where a parameter that is one of its options is called so, too.

        Examples
        --------
        >>> InputError("n_pairs must be an integer >= 1; got 0.").typed(["n_pairs"])
        '--n-pairs must be an integer >= 1; got 0.'
        """
        # A parameter is named at the beginning only; options elsewhere are written with dashes already.
        subject, verb, rest = self.sentence.partition(" must ")
        subject = f"--{subject.replace('_', '-')}" if subject in options else subject
        return OPTION.sub(
            lambda match: match[0].replace("=", " ", 1) if match[1] else match[0],
            subject + verb + rest,
        )


def _keyword(match: re.Match[str]) -> str:
    """Write an option as the keyword of a function; capitals stand for a value and are no text."""
    if match[1] is None:
        return match[0]
    name = KEYWORDS.get(match[1], match[1].replace("-", "_"))
    if match[2] is None:
        return f"{name}=True" if match[1] in FLAGS else name
    value = split(match[2])[0]
    mark = '"' if "'" in value else "'"
    return (
        f"{name}={value}"
        if re.fullmatch(r"[A-Z:]+|\d+", value)
        else f"{name}={mark}{value}{mark}"
    )


def option(name: str, value: object) -> str:
    """Write an option with a value that anybody may have named, for a sentence.

    Examples
    --------
    >>> option("ignore", "avg rating")
    "--ignore='avg rating'"
    """
    return f"--{name}={quote(str(value))}"


def with_taker(error: InputError, taker: str) -> InputError:
    """Add to a sentence that names options the function which takes them.

    Parameters
    ----------
    error : InputError
        The error. If its sentence names no option, it is returned as it is.
    taker : str
        The function that takes the options, such as "embaudit.load".

    Examples
    --------
    >>> print(with_taker(InputError("say --kind=head."), "embaudit.load"))
    say kind='head'; these options are taken by embaudit.load.
    >>> print(with_taker(InputError("fit it first."), "embaudit.load"))
    fit it first.
    """
    if not any(match[1] for match in OPTION.finditer(error.sentence)):
        return error
    clause = f"these options are taken by {taker}"
    return InputError(f"{error.sentence.removesuffix('.')}; {clause}.")


class KeywordError(InputError, TypeError):
    """A function has no keyword of that name."""


class EquivalenceError(InputError):
    """A gauge preserves less than the model predicts, so the result would be another model."""


def must_be(name: str, allowed: str, got: object, remedy: str = "") -> InputError:
    """Build the one sentence every parameter error has.

    Parameters
    ----------
    name : str
        What the user calls the thing that is wrong.
    allowed : str
        The set it must belong to, completing "must be ...".
    got : object
        The value given, shown by `str`; quote a user's own words with `repr`.
    remedy : str, optional
        What to do about it.

    Returns
    -------
    InputError
        To be raised by the caller.

    Examples
    --------
    >>> str(must_be("alpha", "a number >= 0", -1, "0 switches the penalty off"))
    'alpha must be a number >= 0; got -1; 0 switches the penalty off.'
    """
    return InputError(
        "; ".join(
            clause
            for clause in (f"{name} must be {allowed}", f"got {_short(got)}", remedy)
            if clause
        )
        + "."
    )


def _short(got: object) -> str:
    """Cut what fills a screen, and leave out where in memory an object lies."""
    # A password that is cut off before its @ would not be recognised.
    text = without_secrets(re.sub(r" at 0x[0-9a-f]+", "", str(got)))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
