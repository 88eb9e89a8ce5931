"""The answer: whether cosines can be read as likeness, in a word, and why in a sentence.

It is drawn from claims alone, so that it can say no more than they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from embaudit.auditing.claims.claim import Kind
from embaudit.auditing.claims.heads import CHANGED, MOVES, is_of_some
from embaudit.foundation.words import ONCE, counted, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from embaudit.auditing.claims.claim import Claim

    Known = Mapping[str, Claim]


FREEDOM = ("free", "pinned", "undecided")


class Word(StrEnum):
    """What can be done with cosines."""

    YES = "YES"
    """The predictions fix them."""
    CONVENTION = "AS A CONVENTION"
    """The predictions do not; training, or whoever chose these vectors, did."""
    NO = "NO"
    """Neither is known to, and what is predicted says otherwise."""
    UNSAID = "CANNOT BE SAID"
    """What would decide it is not at hand."""


@dataclass(frozen=True)
class Answer:
    """Whether cosines can be read as likeness."""

    word: Word
    """The answer."""
    because: str
    """Why, in a sentence without its capital."""
    claims: tuple[str, ...]
    """Names of the claims it is drawn from."""
    cosines: str = ""
    """Which cosines it speaks of."""

    @property
    def question(self) -> str:
        """What is answered."""
        return f"Can these {self.cosines} be read as likeness?"

    def __str__(self) -> str:
        return f"{self.word}: {self.because}."

    def to_dict(self) -> dict[str, Any]:
        """Return the `answer` of the audit's JSON."""
        return {"word": str(self.word), "because": self.because, "cosines": self.cosines, "claims": list(self.claims)}


def answer(claims: Iterable[Claim], role: str) -> Answer:
    """Draw the answer for one kind of pairs.

    Examples
    --------
    >>> from embaudit.auditing.claims import Claim, Scope
    >>> scope = Scope("every model of rank 2 with the same predictions", whole=True)
    >>> pinned = Claim("pinned:right", Kind.PROVEN, "item-item cosines", scope, "The predictions pin them.")
    >>> print(answer([pinned], "right"))
    YES: every model with the same predictions has the same item-item cosines.
    >>> print(answer([], "right"))
    CANNOT BE SAID: the check failed, as models that should predict the same do not.
    """
    known = {claim.about: claim for claim in claims if claim.role in ("", role)}
    found = next(made for rule in RULES if (made := rule(known)))
    freedom = next((known[name] for name in FREEDOM if name in known), None)
    cited = tuple(known[name].name for name in found.names)
    return Answer(found.word, found.because, cited, "" if freedom is None else freedom.subject)


class _Found(NamedTuple):
    """What a rule makes of the claims."""

    word: Word
    because: str
    names: tuple[str, ...]


def _clause(claim: Claim) -> str:
    """Make a sentence follow a colon."""
    return f"{claim.text[0].lower()}{claim.text[1:].removesuffix('.')}"


def _failed(known: Known) -> _Found | None:
    if any(name in known for name in FREEDOM):
        return None
    because = "the check failed, as models that should predict the same do not"
    return _Found(Word.UNSAID, because, tuple(name for name in ("predictions",) if name in known))


def _decided(known: Known) -> _Found | None:
    """Take what is proven about all equal models, or known to be open."""
    if "undecided" in known:
        because = f"nobody knows whether an equal model has other {known['undecided'].subject}"
        return _Found(Word.UNSAID, because, ("undecided",))
    if "pinned" not in known:
        return None
    claim = known["pinned"]
    if claim.scope.whole:
        return _Found(Word.YES, f"every model with the same predictions has the same {claim.subject}", ("pinned",))
    return _Found(Word.YES, f"{claim.subject} are the same in all {claim.scope.models}", ("pinned",))


def _made(known: Known) -> _Found | None:
    """Take vectors for what they were made for."""
    return _Found(Word.YES, _clause(known["made"]), ("made",)) if "made" in known else None


def _agreeing(known: Known) -> _Found | None:
    """Tell of cosines that a model happens to share with its predictions, where an equal one need not."""
    if "agrees" not in known:
        return None
    because = f"here they are {known['agrees'].scope}, but an equal model could hold others"
    return _Found(Word.CONVENTION, because, ("agrees", "free"))


def _unseen(known: Known) -> _Found | None:
    """Tell of rows that hold what no prediction sees."""
    if "outside" not in known:
        return None
    because = f"they count {counted(int(known['outside'].value or 0), 'dimension')} that no prediction sees"
    return _Found(Word.NO, because, ("outside", "free"))


def _off_origin(known: Known) -> _Found | None:
    """Tell of labels whose mean row, which no probability shows, decides what is near."""
    if "origin-decides" not in known:
        return None
    decides, once = known["origin-decides"], known.get("origin-once")
    changed = (once or known["origin"]).value or 0.0
    start = "subtracting the average row from every row"
    if changed < CHANGED:
        because = f"{start} moves them by {decides.value:.2f} on average and changes no probability"
        return _Found(Word.NO, because, ("origin-decides", "origin", "free"))
    copies = f", {ONCE}" if once else ""
    which = "the nearest labels asked for" if is_of_some(known["origin"]) else "nearest labels"
    because = f"{start} changes {percent(changed)} of {which}{copies}, but no probability"
    return _Found(Word.NO, because, ("origin-decides", "origin", *(("origin-once",) if once else ()), "free"))


def _unfolded(known: Known) -> _Found | None:
    """Tell of gains of a final norm that decide what is near."""
    if "norm-decides" not in known:
        return None
    share = percent(known["norm-decides"].value or 0.0)
    because = f"folding in the final norm changes {share} of the nearest labels asked for, but no probability"
    return _Found(Word.NO, because, ("norm-decides", "norm", "free"))


def _chosen(known: Known) -> _Found | None:
    """Take the training's word for them, and say how far from it the predictions list."""
    if "chosen" not in known:
        return None
    because = f"{_clause(known['chosen'])}. Use them within this model only"
    if "listed" not in known:
        return _Found(Word.CONVENTION, because, ("chosen", "free"))
    because += f". {known['listed'].text.removesuffix('.')}"
    return _Found(Word.CONVENTION, because, ("chosen", "listed", "free"))


def _moving(known: Known) -> _Found | None:
    """Name what moves them most plainly: what is predicted, an equal model at hand, or training itself."""
    for name, least in (("listed", CHANGED), ("differs", MOVES)):
        if name in known and (known[name].value or 0.0) >= least:
            because = f"models that predict exactly the same have other cosines. {known[name].text.removesuffix('.')}"
            return _Found(Word.NO, because, (name, "free"))
    if known["free"].kind is Kind.SHOWN:
        because = f"an equal model at hand moves them by up to {known['free'].value:.2f}"
        return _Found(Word.NO, because, ("free",))
    return _Found(Word.NO, _clause(known["left-open"]), ("left-open", "free")) if "left-open" in known else None


def _near(known: Known) -> _Found | None:
    """Tell of cosines that nearly are those of what is predicted."""
    if "differs" not in known:
        return None
    because = f"here they nearly are {known['differs'].scope}, but an equal model could hold others"
    return _Found(Word.CONVENTION, because, ("differs", *(("listed",) if "listed" in known else ()), "free"))


def _alone(known: Known) -> _Found | None:
    """Say what one side alone leaves open."""
    if "one-side" not in known:
        return None
    if "trained" in known:
        return _Found(Word.UNSAID, _clause(known["trained"]), ("trained", "one-side", "free"))
    if "origin" not in known:
        because = (
            "without the side they are multiplied with, nothing tells these vectors from equal ones with other cosines"
        )
        return _Found(Word.UNSAID, because, ("one-side", "free"))
    shifts = known["origin"].witness is not None
    quiet = "centring changes little, but " * shifts
    # On a line no rescaling turns anything.
    others = "shifted" if shifts and "stretched" not in known else "rescaled"
    because = f"{quiet}{others} heads predict the same, and without inputs nothing tells them apart"
    return _Found(Word.UNSAID, because, ("origin", "one-side", "free"))


def _free(known: Known) -> _Found:
    """Conclude from what may move alone."""
    for name in ("moved", "stretched"):
        if name in known:
            return _Found(Word.NO, f"an equal model moves them by {known[name].value:.2f} on average", (name, "free"))
    return _Found(Word.NO, "equal models may have others", ("free",))


RULES: tuple[Callable[[Known], _Found | None], ...] = (
    _failed,
    _decided,
    _made,
    _agreeing,
    _unseen,
    _off_origin,
    _unfolded,
    _chosen,
    _moving,
    _near,
    _alone,
    _free,
)
"""The first that has something to say answers; the last always has."""
