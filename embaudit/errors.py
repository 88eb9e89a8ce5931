"""The errors that a user can mend, each one sentence on one line.

The usual sentence is *name must be SET; got VALUE; what to do*. Options in it are
values of `Option`, so Python writes `kind='head'` and the command line `--kind head`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from os import PathLike
from shlex import quote
from unicodedata import category

SECRETS = re.compile(
    r"""(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]+:/+)"""
    r"""(?P<user>[^\s/'"]*@|[^\s/'":]+:(?!:|\d*/)[^\s'"?#]*@)?"""
    r"""(?P<path>(?:(?!::)[^\s?#'"])*)"""
    r"""(?:[?#][^\s'"]*(?<![.,;:)]))?"""
)
"""A URL, with user, password, query and fragment between the parts that are shown.

Chained URLs such as `zip://v.npy::https://host/v.zip` are matched one by one. A
password can hold a slash, although URLs should write %2F instead.
"""
BEHIND_SPACES = re.compile(r"""(?<=[^\s'"])[?#][\w.%-]+=[^\s'"]*(?<![.,;:)])""")
"""The query or fragment of a URL whose path holds spaces."""
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that steer a terminal or a page, or cannot be encoded."""
JOINERS = "\u200c\u200d"
"""Zero-width characters that Persian, Indian scripts and emoji need. They stay."""
LONGEST = 300
"""Characters of a given value that an error shows; file names are at most 255 long."""


def escaped(text: str) -> str:
    r"""Write control, bidi and line-end characters and lone surrogates as escapes.

    Examples
    --------
    >>> escaped("Heat (1995)"), escaped("a\n\x1b[2J")
    ('Heat (1995)', 'a\\n\\x1b[2J')
    """
    if text.isprintable():
        return text
    characters = []
    for character in text:
        if category(character) in INVISIBLE and character not in JOINERS:
            characters.append(repr(character)[1:-1])
        else:
            characters.append(character)
    return "".join(characters)


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
    if SECRETS.search(shown):
        shown = BEHIND_SPACES.sub("", shown)
    return shown


@dataclass(frozen=True)
class Option:
    """An option of a command, which is a keyword in Python.

    Examples
    --------
    >>> Option("kind", "head").for_python(), Option("kind", "head").for_cli()
    ("kind='head'", '--kind head')
    >>> Option("by_row", True).for_python(), Option("by_row", True).for_cli()
    ('by_row=True', '--by-row')
    >>> weight = Option("weight", placeholder="NAME")
    >>> weight.for_python(), weight.for_cli()
    ('weight=NAME', '--weight NAME')
    """

    name: str
    """Name of the keyword. A name that Python reserves ends in `_`, such as `as_`."""
    value: object = None
    """The value to give. None: only the option is named. True: it takes no value."""
    placeholder: str = ""
    """A word in capitals that stands for the value."""

    def for_python(self) -> str:
        """Write the option as a keyword argument."""
        if self.placeholder:
            return f"{self.name}={self.placeholder}"
        if self.value is None:
            return self.name
        if isinstance(self.value, str):
            return f"{self.name}={without_secrets(self.value)!r}"
        return f"{self.name}={self.value!r}"

    def for_cli(self) -> str:
        """Write the option as it is typed in a shell."""
        flag = _flag(self.name)
        if self.placeholder:
            return f"{flag} {self.placeholder}"
        if self.value is None or self.value is True:
            return flag
        return f"{flag} {quote(_shown(str(self.value)))}"


@dataclass(frozen=True)
class Parameter:
    """The parameter that a sentence is about.

    The command line writes it as an option if the command has one of that name.
    """

    name: str


@dataclass(frozen=True)
class File:
    """A file, a folder or a URL that a sentence names.

    Examples
    --------
    >>> error = InputError("{} must be whole.", File("a.npz"))
    >>> str(error), error.files
    ('a.npz must be whole.', ('a.npz',))
    """

    path: object
    """The path, which may be a text."""

    def __str__(self) -> str:
        return _shown(str(self.path))


Part = str | Option | Parameter | File
"""A piece of a sentence."""


class Sentence:
    """A sentence with options in it.

    Parameters
    ----------
    template : str
        The text. With values, each `{}` stands for one of them; without values, braces
        are text.
    *values : object
        Options, files, other sentences, and anything that `str` can write. A path is a
        file. A text that can hold braces, such as the name of a file, is a value and
        never part of the template.

    Examples
    --------
    >>> advice = Sentence("say {} if a softmax follows {}", Option("kind", "head"), "W")
    >>> str(advice), advice.for_cli()
    ("say kind='head' if a softmax follows W",
     'say --kind head if a softmax follows W')
    """

    def __init__(self, template: str, *values: object) -> None:
        texts = template.split("{}") if values else [template]
        parts: list[Part] = [texts[0]]
        for value, text in zip(values, texts[1:], strict=True):
            if isinstance(value, Sentence):
                parts.extend(value.parts)
            elif isinstance(value, Option | Parameter | File):
                parts.append(value)
            elif isinstance(value, PathLike):
                parts.append(File(value))
            else:
                parts.append(str(value))
            parts.append(text)
        self.parts: tuple[Part, ...] = tuple(
            _shown(part) if isinstance(part, str) else part for part in parts
        )
        """Texts and options in the order in which they are read."""

    def __str__(self) -> str:
        """Write the sentence with keywords, for Python."""
        texts = []
        for part in self.parts:
            if isinstance(part, Option):
                texts.append(part.for_python())
            elif isinstance(part, Parameter):
                texts.append(part.name)
            else:
                texts.append(str(part))
        return "".join(texts)

    def for_cli(self, options: Collection[str] = ()) -> str:
        """Write the sentence with options as they are typed.

        Parameters
        ----------
        options : collection of str
            Keywords that are options of the running command. A parameter that is one of
            them is written as an option.
        """
        texts = []
        for part in self.parts:
            if isinstance(part, Option):
                texts.append(part.for_cli())
            elif isinstance(part, Parameter) and part.name in options:
                texts.append(_flag(part.name))
            elif isinstance(part, Parameter):
                texts.append(part.name)
            else:
                texts.append(str(part))
        return "".join(texts)

    @property
    def files(self) -> tuple[str, ...]:
        """Files that the sentence names, in the order in which they are read."""
        return tuple(str(part) for part in self.parts if isinstance(part, File))

    def map_texts(self, function: Callable[[str], str]) -> Sentence:
        """Return the sentence with `function` applied to texts, files and values."""
        parts: list[Part] = []
        for part in self.parts:
            if isinstance(part, str):
                parts.append(function(part))
            elif isinstance(part, File):
                parts.append(File(function(str(part))))
            elif isinstance(part, Option) and isinstance(part.value, str):
                parts.append(replace(part, value=function(part.value)))
            else:
                parts.append(part)
        return Sentence("{}" * len(parts), *parts)


def joined(sentences: Iterable[str | Sentence]) -> Sentence:
    """Join sentences by spaces.

    Examples
    --------
    >>> str(joined(["Done.", Sentence("Say {}.", Option("kind", "head"))]))
    "Done. Say kind='head'."
    """
    sentences = list(sentences)
    template = " ".join(["{}"] * len(sentences))
    return Sentence(template, *sentences)


def _flag(name: str) -> str:
    """Write a keyword as an option: `as_` is `--as`."""
    return "--" + name.rstrip("_").replace("_", "-")


def _shown(text: str) -> str:
    """Make a text safe to show: a name may hold secrets or steer a terminal."""
    return escaped(without_secrets(text))


class InputError(ValueError):
    """A value that the caller gave cannot be used. The command line exits with code 2.

    Parameters
    ----------
    template : str
        The sentence, with `{}` for each value.
    *values : object
        The values of the sentence. An `Option` is written as a keyword in Python and
        as an option on the command line.

    Examples
    --------
    >>> options = Option("weight", "W"), Option("partial", True)
    >>> error = InputError("name it with {}, or go on with {}.", *options)
    >>> print(error)
    name it with weight='W', or go on with partial=True.
    >>> error.for_cli()
    'name it with --weight W, or go on with --partial.'
    """

    def __init__(self, template: str | Sentence, *values: object) -> None:
        if isinstance(template, Sentence):
            self.sentence = template
        else:
            self.sentence = Sentence(template, *values)
        super().__init__(str(self.sentence))

    def __reduce__(self) -> tuple[type[InputError], tuple[Sentence]]:
        """Keep the options of the sentence in the copy that another process gets."""
        return type(self), (self.sentence,)

    @property
    def files(self) -> tuple[str, ...]:
        """Files that the sentence names, in the order in which they are read."""
        return self.sentence.files

    def for_cli(self, options: Collection[str] = ()) -> str:
        """Write the sentence for the command line.

        Examples
        --------
        >>> error = must_be("n_pairs", "an integer >= 1", 0)
        >>> print(error)
        n_pairs must be an integer >= 1; got 0.
        >>> error.for_cli(["n_pairs"])
        '--n-pairs must be an integer >= 1; got 0.'
        """
        return self.sentence.for_cli(options)


def with_taker(
    error: InputError, taker: str, keywords: Collection[str] | None = None
) -> InputError:
    """Say which function takes the options that a sentence names.

    Parameters
    ----------
    error : InputError
        The error. An error whose sentence names no option is returned unchanged.
    taker : str
        The function that takes the options, such as "embaudit.load".
    keywords : collection of str, optional
        Keywords of that function. If the sentence also names other options, the new
        sentence lists only these. By default the function takes every option.

    Examples
    --------
    >>> error = InputError("say {}.", Option("kind", "head"))
    >>> print(with_taker(error, "embaudit.load"))
    say kind='head'. These options are taken by embaudit.load.
    >>> error = InputError("say {} or {}.", Option("ids"), Option("by_row", True))
    >>> print(with_taker(error, "embaudit.io.with_titles", ["by_row"]))
    say ids or by_row=True. embaudit.io.with_titles takes by_row.
    >>> print(with_taker(InputError("fit it first."), "embaudit.load"))
    fit it first.
    """
    options = {part.name for part in error.sentence.parts if isinstance(part, Option)}
    taken = sorted(options)
    if keywords is not None:
        taken = [name for name in taken if name in keywords]
    if not taken:
        return error
    if len(taken) == len(options):
        return InputError("{} These options are taken by {}.", error.sentence, taker)
    return InputError("{} {} takes {}.", error.sentence, taker, " and ".join(taken))


class KeywordError(InputError, TypeError):
    """A function has no keyword of that name."""


class EquivalenceError(InputError):
    """A gauge preserves less than the model predicts.

    Examples
    --------
    A translation of items changes the scores of a recommender.

    >>> import embaudit as ea
    >>> model = ea.FactorModel.from_user_item([[1.0, 2.0]], [[3.0, 4.0]])
    >>> ea.Gauge.translation(2, right=[1.0, 0.0]).act(model)
    Traceback (most recent call last):
        ...
    embaudit.errors.EquivalenceError: a gauge on this model must preserve its ...
    """


def must_be(
    name: str | Sentence | File,
    allowed: str | Sentence,
    got: object,
    remedy: str | Sentence = "",
) -> InputError:
    """Build the sentence of an error in one value.

    Parameters
    ----------
    name : str, Sentence or File
        Name of the value. An identifier is the name of a parameter, so a name from a
        file, such as that of an array, needs a noun before it.
    allowed : str or Sentence
        The set that the value must belong to, completing "must be ...".
    got : object
        The value given, shown by `str`; quote a user's own words with `repr`. A
        sentence, a file and a path stay what they are.
    remedy : str or Sentence, optional
        Advice to the user, as a clause.

    Returns
    -------
    InputError
        To be raised by the caller.

    Examples
    --------
    >>> str(must_be("alpha", "a number >= 0", -1, "0 switches the penalty off"))
    'alpha must be a number >= 0; got -1; 0 switches the penalty off.'
    """
    subject: object = name
    if isinstance(name, str) and name.isidentifier():
        subject = Parameter(name)
    if not isinstance(got, Sentence | File | PathLike):
        got = _short(got)
    sentence = Sentence("{} must be {}; got {}", subject, allowed, got)
    if remedy:
        sentence = Sentence("{}; {}", sentence, remedy)
    return InputError("{}.", sentence)


def _short(got: object) -> str:
    """Write a value, cut to `LONGEST` characters and without memory addresses."""
    # A password that is cut off before its @ would not be recognised.
    text = without_secrets(re.sub(r" at 0x[0-9a-f]+", "", str(got)))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}..."
    return text
