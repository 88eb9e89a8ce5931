"""Steps of `combine`: what the caller says of a model is added to its fields."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from embaudit.core.checked import as_factors
from embaudit.errors import InputError, Option, Parameter, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.intake import Intake, Part, StoredNorm
from embaudit.io.layouts.checkpoints.encoders import encoder_of
from embaudit.io.layouts.checkpoints.final_norm import NONE
from embaudit.io.options import Request
from embaudit.io.tables.rows import read_counts, read_ids, read_labels
from embaudit.model import FactorModel, as_link, with_comparison, with_objective
from embaudit.model.trainings import StatedTraining, find_training, require_agreement

CHECKPOINTS = (
    ".safetensors",
    ".gguf",
    ".onnx",
    ".h5",
    ".hdf5",
    ".keras",
    ".bin",
    ".pt",
)
"""Suffixes of files that hold parts of a model, such as the table of its tokens."""
TEMPERATURES = ("logit_scale", "logit_bias", "temperature", "log_temperature", "tau")
"""Names of numbers next to two tables that say that training used a temperature."""
UNNORMALISED = "modules.json, by which the folder does not normalise its vectors"
"""Words for the modules of an encoder without a layer that normalises."""


def with_rows_named(model: FactorModel, request: Request) -> FactorModel:
    """Add the nouns, ids, counts and titles of the rows that the caller gave."""
    # Errors below call rows by these nouns.
    roles = (
        request.left_name or model.title("left"),
        request.right_name or model.title("right"),
    )
    if roles != model.roles:
        model = model.replace(roles=roles)
    for role, ids, column, counts in (
        ("left", request.left_ids, request.left_ids_column, request.left_counts),
        ("right", request.ids, request.ids_column, request.right_counts),
    ):
        if ids is not None:
            read_as = read_ids(
                ids,
                len(model.side(role)),
                column=column,
                what=model.title(role),
                n_columns=model.rank,
            )
            model = model.replace(**{f"{role}_ids": read_as})
        if counts is not None:
            # Counts are found by ids.
            numbers = read_counts(counts, model.side(role))
            model = model.replace(**{f"{role}_counts": numbers})
    if request.labels is not None:
        noun = model.title("right")
        names = read_labels(
            request.labels, model.n_right, what=noun, n_columns=model.rank
        )
        model = model.replace(right_names=names)
    return model


def with_declared(model: FactorModel, request: Request) -> FactorModel:
    """Add the link and the training that the caller declares.

    Raises
    ------
    InputError
        If they contradict each other or the model.
    """
    if request.compared is not None and request.link is not None:
        allowed = Sentence("left out beside {}, which sets it", Option("compared"))
        raise must_be("link", allowed, repr(request.link))
    if request.objective is not None:
        find_training(request.objective)
    # A link that contradicts the words for the training is refused before anything is
    # changed.
    if request.link is not None:
        sides = 1 if model.left_side is None and request.inputs is None else 2
        require_agreement(
            request.objective, as_link(request.link), sides=sides, is_declared=True
        )
    model = with_comparison(model, request.compared)
    changes = {"link": request.link, "objective": request.objective}
    changes = {name: value for name, value in changes.items() if value is not None}
    if changes:
        model = model.replace(**changes)
    if request.inputs is None:
        model = with_objective(model, request.objective)
    return model


def with_overruled(
    model: FactorModel,
    stated: FactorModel,
    intake: Intake,
    request: Request,
    path: Path | None,
) -> FactorModel:
    """Keep what the source says of the training if the caller declares another law.

    Parameters
    ----------
    model : FactorModel
        The model with everything that the caller declares.
    stated : FactorModel
        The model as its source describes it.
    intake : Intake
        Report of the read of `stated`.
    request : Request
        Options of the caller.
    path : Path or None
        Path of the model, whose folder can be that of an encoder.
    """
    if request.objective is None:
        return model
    statement = None
    encoder = _encoder_of_outputs(path)
    if stated.objective is not None:
        source = intake.of(stated).training_source
        statement = StatedTraining(stated.objective, source or "the model")
    elif stated.left_side is None and encoder is not None and encoder[0]:
        statement = StatedTraining(*encoder)
    if statement is None:
        return model
    is_alone = model.left_side is None
    return model.replace(
        overruled=statement.unless_agreed(request.objective, alone=is_alone)
    )


def with_norm_of(
    model: FactorModel, norm: StoredNorm | None, request: Request
) -> tuple[FactorModel, StoredNorm | None]:
    """Add the final norm before a head.

    A norm that the caller names is kept, or refused by the model. A norm that was only
    stored next to the head is dropped if it does not fit.
    """
    if norm is None:
        if request.norm not in (None, NONE):
            what = "asked of a checkpoint in safetensors files or GGUF"
            raise must_be("norm", what, repr(request.norm), "leave it out")
        return model, None
    if not request.norm and not norm.norm.fits(model.link, model.rank):
        return model, None
    return model.replace(final_norm=norm.norm), norm


def with_inputs(model: FactorModel, request: Request) -> FactorModel:
    """Put inputs to the left of a model without a left side.

    Of states, the final norm makes inputs.

    Raises
    ------
    InputError
        If the model has a left side of its own; for states, if no final norm is known
        there, they are not as wide as it, or inputs are given, too.
    """
    rows = request.inputs if request.states is None else request.states
    if rows is None:
        return model
    norm = model.final_norm
    if request.states is not None and norm is None:
        remedy = Sentence("give what reaches the head with {}", Option("inputs"))
        raise must_be(
            "a head that states are given for",
            "one whose final norm is known",
            "one of none",
            remedy,
        )
    if request.states is not None and request.inputs is not None:
        raise InputError(
            "{} must be left out beside {}, which the final norm makes inputs of.",
            Parameter("inputs"),
            Option("states"),
        )
    if model.left_side is not None:
        raise InputError(
            "{} must be left out here; the model has {}s of its own.",
            Parameter("inputs"),
            model.title("left"),
        )
    if request.states is not None and norm is not None:
        rows = as_factors(rows, "states")
        if rows.shape[1] != norm.width:
            wanted = f"vectors of {norm.width} numbers, as wide as the final norm"
            raise must_be(
                "states", wanted, rows.shape[1], "give what reaches that norm"
            )
        rows = np.asarray(norm.applied(rows), np.result_type(rows.dtype, np.float32))
    link = None if model.link.is_assumed else model.link
    return model.replace(
        left=rows, roles=(request.left_name or "input", model.title("right")), link=link
    )


def with_training(
    model: FactorModel,
    intake: Intake,
    contents: Contents,
    request: Request,
    path: Path | None,
) -> tuple[FactorModel, Intake]:
    """Add the training that files next to the vectors state.

    A training that the caller declares comes first.
    The vectors of an encoder are compared as its folder says. Two tables next to a
    temperature were trained with it.
    """
    is_declared = any(
        value is not None
        for value in (request.objective, request.link, request.compared)
    )
    encoder = _encoder_of_outputs(path)
    if model.left_side is None and encoder is not None:
        training, source = encoder
        is_open = model.link.name == "identity" and model.objective is None
        if is_declared and training:
            overridden = Part(f"{source} ({training}), which your options override", "")
            return model, replace(intake, left_over=(*intake.left_over, overridden))
        if is_open and not is_declared and not training:
            unnormalised = Part(UNNORMALISED, "")
            return model, replace(intake, left_over=(*intake.left_over, unnormalised))
        if is_open and not is_declared:
            model = with_objective(model, training)
            return model, intake.beside(Part(source, "objective"))
    temperature = _temperature_of(contents, encoder)
    if model.link.name == "unknown" and not is_declared and temperature is not None:
        training, source = temperature
        model = with_objective(model, training)
        return model, intake.beside(Part(source, "objective"))
    return model, intake


def _temperature_of(
    contents: Contents, encoder: tuple[str, str] | None
) -> tuple[str, str] | None:
    """Return the training of two tables that a temperature belongs to, and its source.

    The source is a number next to the tables, such as `logit_scale` of CLIP, or the
    configuration of the network in whose folder they lie.
    """
    for part in contents.left_over:
        is_number = all(size == 1 for size in part.shape)
        if is_number and part.name.rpartition(".")[2] in TEMPERATURES:
            return "temperature", part.name
    return None if encoder is None or not encoder[0] else encoder


def _encoder_of_outputs(path: Path | None) -> tuple[str, str] | None:
    """Return how the encoder of a folder was trained, and the file that says so.

    Such files describe the outputs of the encoder. A checkpoint holds its parts, for
    example the table of its tokens, and nobody compared those with each other.
    """
    if path is None or path.suffix.lower() in CHECKPOINTS:
        return None
    return encoder_of(path.parent)
