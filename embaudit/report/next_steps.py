"""Commands to type next, which run when they are pasted.

Paths stand in them in full, however long they are, and quoted for the shell. A name in
capitals, such as `OTHER-SIDE.npy`, stands for a file that only the reader has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import join

from embaudit.auditing.audit import Audit
from embaudit.auditing.wording import is_alone, is_head, prediction_phrase
from embaudit.core.answer_word import AnswerWord
from embaudit.core.words import listed
from embaudit.model import Equivalence
from embaudit.model.objectives import Status, usual_objectives

TWO_TABLES = re.compile(
    "word|w2v|glove|fasttext|node2vec|deepwalk|clip|users|item|factor", re.IGNORECASE
)
"""Names of files, folders and arrays that come from models of two tables."""
DISTILLED = "embeddings"
"""The array of model2vec: token rows that were distilled from an encoder, and not
compared in training.
"""
OTHER, ROWS, INPUTS = "OTHER-SIDE.npy", "ROWS.npy", "INPUTS.npy"
"""Files that stand in a command for those of its reader."""

TRAINED = (
    "if you know its training, add --objective (`embaudit explain objectives`)",
    "",
)
"""The step to take where the training is not known."""
OWN_FORMAT = "embaudit"
"""The format of our own files, which say themselves what is what; so does a file of one
array.
"""


@dataclass(frozen=True)
class Invocation:
    """A model and the options that were typed, so another command can read it again.

    Examples
    --------
    >>> typed = Invocation("my model.npz", ("--kind", "head"), ("--soft-cap", "30"))
    >>> typed.audit("--full")
    "embaudit audit 'my model.npz' --kind head --soft-cap 30 --full"
    >>> typed.fix("--as", "centred")
    "embaudit fix 'my model.npz' --kind head --as centred"
    >>> Invocation("/data/models/recommender/nightly/2026-11-29/model.npz").fix()
    'embaudit fix /data/models/recommender/nightly/2026-11-29/model.npz'
    """

    path: str
    """The file or folder, or the first table of several."""
    reading: tuple[str, ...] = ()
    """Options of every command that reads a model, and its table of titles."""
    audit_options: tuple[str, ...] = ()
    """Options of `embaudit audit` besides."""
    truth: str | None = None
    """Column of the table of titles that can judge similarities; None without one."""
    more: tuple[str, ...] = ()
    """Further tables, whose rows follow those of the first."""
    items: tuple[str, ...] = ()
    """Options of a table of items without titles, which `fix` cannot use."""

    @property
    def title(self) -> str:
        """Name the file, and the number of those beside it.

        Examples
        --------
        >>> Invocation("a.parquet", more=("b.parquet", "c.parquet")).title
        'a.parquet and 2 more'
        """
        return listed([self.path, *self.more], 1)

    def audit(self, *more: str) -> str:
        """Return the command that audits the same model."""
        words = (*self.reading, *self.items, *self.audit_options)
        return self._command("audit", *words, *more)

    def fix(self, *more: str) -> str:
        """Return the command that writes vectors of the same model."""
        return self._command("fix", *self.reading, *more)

    def evaluate(self, *more: str) -> str:
        """Return the command that judges similarities of the same model."""
        return self._command("evaluate", *self.reading, *self.items, *more)

    def _command(self, name: str, *words: str) -> str:
        paths = [self.path, *self.more]
        # A name that begins with a dash would be read as an option.
        if self.path.startswith("-"):
            paths[0] = f"./{self.path}"
        return join(["embaudit", name, *paths, *words])

    def out(self, what: str) -> str:
        """Name a file for vectors of some kind.

        The name holds the folder because many models are called `model.safetensors`.

        Examples
        --------
        >>> Invocation("a/model.safetensors").out("prediction")
        'a-model-prediction.npz'
        >>> Invocation("m.v2.npz").out("centred")
        'm.v2-centred.npz'
        """
        where = Path(self.path).resolve()
        # Names of folders have dots that begin no suffix, as in Qwen2.5-0.5B.
        name = where.name if where.is_dir() else where.stem
        folder = Path(self.path).parent.name.strip(".")
        return "-".join(filter(None, (folder, name, what))) + ".npz"


def next_steps(audit: Audit, invocation: Invocation) -> Iterator[tuple[str, str]]:
    """Yield what to do next and its command.

    A step names a missing side, writes vectors to use or declares the training.
    What only adds an option to the command that was typed has none of its own.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> found = audit(FactorModel.from_vectors([[1.0, 2.0], [2.0, 1.0]]))
    >>> for what, command in next_steps(found, Invocation("v.npy")):
    ...     print(f"{what}: {command}" if command else what)
    if training compared these rows with each other (cosine, dot, distance):
    embaudit audit v.npy --compared cosine
    if multiplied with a second table (word2vec, CLIP, recommender):
    embaudit audit v.npy --left-file OTHER-SIDE.npy
    >>> found = audit(FactorModel.from_softmax([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]))
    >>> for line in next(next_steps(found, Invocation("h.npz"))):
    ...     print(line)
    to compare labels by what the head does with your inputs, not by meaning
    embaudit fix h.npz --inputs INPUTS.npy --as prediction --unit --out h-prediction.npz
    >>> users, items = [[1.0, 0.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> for role in ("user-item", "user"):
    ...     print(*next(next_steps(audit(model, role=role), Invocation("m.npz"))))
    to rank items for each user, use the model's scores, not these cosines
    to compare users by their predictions (`evaluate` says if it is better)
    embaudit fix m.npz ... --role user ...
    """
    model, word = audit.model, audit.answer.word
    # Where nothing can be trusted, or after a YES, there is nothing to choose.
    if audit.answer.advice and word is not AnswerWord.YES:
        # A head has logit cosines, whatever its training: they come first.
        if audit.head is not None and model.left is None:
            deciding = (
                "to decide it by inputs of the head",
                invocation.audit("--inputs", INPUTS),
            )
            yield from [deciding] * (word is AnswerWord.UNKNOWN)
            yield _by_predictions(audit, invocation)
        if model.link.name == "unknown":
            yield (
                "if training divided cosines by a learned temperature",
                invocation.audit("--objective", "clip"),
            )
            yield (
                "if training compared cosines",
                invocation.audit("--objective", "cosine"),
            )
        if model.left is not None:
            yield _by_predictions(audit, invocation)
        elif word is AnswerWord.NO and (
            "right" in model.free_shifts or model.link.measures_distances
        ):
            yield _as_they_predict(audit, invocation)
        elif is_alone(model) and model.predicts is not Equivalence.COSINES:
            yield from _of_one_side(audit, invocation)
        elif is_alone(model):
            yield (
                "if you have the other side, whose rows may decide it",
                _with_other(audit, invocation),
            )
        # Training that is not known may be what decides.
        if (
            not is_alone(model)
            and model.objective is None
            and any(each.code == "EMB102" for each in audit.findings)
        ):
            yield TRAINED
    if invocation.truth is not None and audit.evidence.role != "left":
        what = f"to judge similarities by the labels of column {invocation.truth}"
        yield what, invocation.evaluate("--truth", invocation.truth)


def _as_they_predict(audit: Audit, invocation: Invocation) -> tuple[str, str]:
    """Name the line that writes equivalent rows, or the distance to rank rows by."""
    title = audit.model.title("right")
    if audit.model.link.measures_distances:
        return f"to serve {title}s, index these rows by distance, as they are", ""
    if audit.evidence.norm is None:
        form, described = "centred", f"{title}s centred"
    else:
        form, described = "folded-centred", f"{title}s, norm folded in and centred"
    tying = audit.evidence.tying
    is_tied = tying is not None and tying.status == "tied"
    convention = "a separate head" if is_tied else "a convention"
    what = f"to write {described} ({convention}, no similarity)"
    return what, invocation.fix("--as", form, "--out", invocation.out(form))


def _by_predictions(audit: Audit, invocation: Invocation) -> tuple[str, str]:
    """Name the command that writes vectors which compare rows by predictions.

    The command names the file of inputs that a head alone lacks.
    """
    model = audit.model
    is_left = audit.evidence.role == "left"
    reading: tuple[str, ...] = ()
    over = ""
    title = model.title("left" if is_left else "right")
    # Pairs of both sides are compared by their scores, which need no other vectors.
    if audit.evidence.role == "cross":
        what = (
            f"to rank {title}s for each {model.title('left')}, use the model's scores, "
            "not these cosines"
        )
        return what, ""
    if audit.head is not None and model.left is None:
        # What the head is multiplied with comes from behind a final norm, as the last
        # of `hidden_states` does.
        reading = ("--inputs", INPUTS)
        over = (
            " with your inputs" if audit.evidence.norm is None else " to normed states"
        )
    what = (
        f"to compare {title}s by {prediction_phrase(model)} (`evaluate` says if it is "
        "better)"
    )
    if is_head(model):
        what = f"to compare {title}s by what the head does{over}, not by meaning"
    # Where both sides are called the same, or one as the other is called here, only
    # left is clear.
    own = (
        title
        if title.isidentifier()
        and title not in (model.title("right"), "right", "cross")
        else "left"
    )
    side, out = (
        (("--role", own), f"{own}-prediction") if is_left else ((), "prediction")
    )
    return what, invocation.fix(
        *reading, "--as", "prediction", *side, "--unit", "--out", invocation.out(out)
    )


def _with_other(audit: Audit, invocation: Invocation) -> str:
    """Name the command that also reads the other side.

    A file in our own format takes no other side, so the command names a file of its
    rows.
    """
    intake = audit.intake
    own = (
        Invocation(ROWS)
        if intake is not None and intake.format == OWN_FORMAT
        else invocation
    )
    return own.audit("--left-file", OTHER)


def _of_one_side(audit: Audit, invocation: Invocation) -> Iterator[tuple[str, str]]:
    """Yield both kinds of training that vectors alone can come from.

    Training with a second table comes first if names tell of such a table.
    """
    intake, ways = audit.intake, []
    arrays = () if intake is None else tuple(array.name for array in intake.parts)
    whitened = any(trait.orthonormal for trait in audit.evidence.traits)
    # Training may have chosen the cosines, as weight decay does.
    is_chosen = any(
        row.status is Status.CHOSEN for row in usual_objectives(audit.model.link)
    )
    if DISTILLED in arrays:
        ways.append(TRAINED)
    elif audit.model.objective is None and not whitened and is_chosen:
        what = "if training compared these rows with each other (cosine, dot, distance)"
        ways.append((what, invocation.audit("--compared", "cosine")))
    ways.append(
        (
            "if multiplied with a second table (word2vec, CLIP, recommender)",
            _with_other(audit, invocation),
        )
    )
    # File, folder, format and arrays: any of their names may tell which kind of model
    # this is.
    names = Path(invocation.path).parts[-2:]
    names += () if intake is None else (intake.format, *arrays)
    yield from reversed(ways) if any(map(TWO_TABLES.search, names)) else ways
