"""Parts of `combine`: options of the caller, and other files, are added to a model.

`loading.combine` calls these functions in the order in which they stand here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from embaudit.core.checked import as_factors
from embaudit.errors import InputError, Option, Parameter, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.intake import Intake, Part, StoredNorm
from embaudit.io.layouts.checkpoints.encoders import encoder_of
from embaudit.io.layouts.checkpoints.final_norm import NONE
from embaudit.io.options import Request
from embaudit.io.tables.rows import read_counts, read_ids, read_labels
from embaudit.model import (
    FactorModel,
    as_link,
    require_link_or_comparison,
    with_comparison,
    with_objective,
)
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
"""Suffixes of checkpoints, which hold the arrays of a network, such as the table of its
tokens. Other files hold the outputs of a network.
"""
LEFT_NAME = Option("left_name", placeholder="WORD")
RIGHT_NAME = Option("right_name", placeholder="WORD")
"""Options for the noun for a row of a side."""
TEMPERATURES = ("logit_scale", "logit_bias", "temperature", "log_temperature", "tau")
"""Names of numbers next to two tables that say that training used a temperature."""
UNNORMALISED = "modules.json, whose encoder does not normalise its vectors"
"""Name of the part in the report if an encoder has no layer that normalises."""


def with_rows_named(model: FactorModel, request: Request) -> FactorModel:
    """Add the nouns, ids, counts and titles of rows that the caller gave."""
    # The nouns come first, because the errors below use them.
    roles = (
        request.left_name or model.title("left"),
        request.right_name or model.title("right"),
    )
    if roles != model.roles:
        if roles[0] == roles[1] and model.left_side is not None:
            raise must_be(
                "the words for the rows of both sides",
                "different",
                f"{roles[0]!r} for both",
                Sentence("give other words as {} and {}", LEFT_NAME, RIGHT_NAME),
            )
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
            # A table of counts is joined by these ids.
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
    require_link_or_comparison(request.link, request.compared)
    if request.objective is not None:
        find_training(request.objective)
    # Refuse a link that contradicts the training before the model is changed.
    if request.link is not None:
        sides = 1 if model.left_side is None and request.inputs is None else 2
        require_agreement(
            request.objective, as_link(request.link), sides=sides, is_declared=True
        )
    model = with_comparison(model, request.compared)
    changes: dict[str, Any] = {}
    if request.link is not None:
        changes["link"] = request.link
    if request.objective is not None:
        changes["objective"] = request.objective
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
    """Record the training that the source states if the caller declares another one.

    Parameters
    ----------
    model : FactorModel
        The model with everything that the caller declares.
    stated : FactorModel
        The model as its source describes it.
    intake : Intake
        The report of reading `stated`.
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
        source = intake.with_model(stated).training_source
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
            what = "omitted unless the model is a checkpoint in safetensors or GGUF"
            raise must_be("norm", what, repr(request.norm))
        return model, None
    if not request.norm and not norm.norm.fits(model.link, model.rank):
        return model, None
    return model.replace(final_norm=norm.norm), norm


def with_inputs(model: FactorModel, request: Request) -> FactorModel:
    """Add the caller's inputs as the left side of a model without a left side.

    States are inputs before the final norm, which is applied to them.

    Raises
    ------
    InputError
        If the model has a left side of its own. For states also if the final norm is
        not known, if they do not have as many columns as it has gains, or if inputs are
        given as well.
    """
    rows = request.inputs if request.states is None else request.states
    if rows is None:
        return model
    norm = model.final_norm
    if request.states is not None and norm is None:
        remedy = Sentence(
            "give the vectors that reach the head with {}", Option("inputs")
        )
        raise must_be(
            "states",
            "omitted unless the final norm of the head is known",
            "states of a head without a known final norm",
            remedy,
        )
    if request.states is not None and request.inputs is not None:
        raise InputError(
            "{} must be omitted if {} is given, because the final norm turns the "
            "states "
            "into inputs.",
            Parameter("inputs"),
            Option("states"),
        )
    if model.left_side is not None:
        raise InputError(
            "{} must be omitted, because the model has {}s of its own.",
            Parameter("inputs"),
            model.title("left"),
        )
    if request.states is not None and norm is not None:
        rows = as_factors(rows, "states")
        if rows.shape[1] != norm.width:
            wanted = f"vectors of {norm.width} numbers, as wide as the final norm"
            raise must_be(
                "states",
                wanted,
                f"{rows.shape[1]} numbers",
                "give the vectors that reach that norm",
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

    The configuration of an encoder says how the vectors in its folder are compared. Two
    tables with a number such as `logit_scale` next to them were trained with a
    temperature. A training that the caller declares overrides both.
    """
    is_declared = any(
        value is not None
        for value in (request.objective, request.link, request.compared)
    )
    encoder = _encoder_of_outputs(path)
    if is_declared:
        if model.left_side is None and encoder is not None and encoder[0]:
            training, source = encoder
            overridden = Part(f"{source} ({training}), which your options override", "")
            intake = replace(intake, left_over=(*intake.left_over, overridden))
        return model, intake
    is_open = model.link.name == "identity" and model.objective is None
    if model.left_side is None and encoder is not None and is_open:
        training, source = encoder
        if training:
            model = with_objective(model, training)
            return model, intake.beside(Part(source, "objective"))
        unnormalised = Part(UNNORMALISED, "")
        return model, replace(intake, left_over=(*intake.left_over, unnormalised))
    temperature = _temperature_of(contents, encoder)
    if model.link.name == "unknown" and temperature is not None:
        training, source = temperature
        model = with_objective(model, training)
        return model, intake.beside(Part(source, "objective"))
    return model, intake


def _temperature_of(
    contents: Contents, encoder: tuple[str, str] | None
) -> tuple[str, str] | None:
    """Return the training of two tables with a temperature, and the source of that.

    The source is a number next to the tables, such as `logit_scale` of CLIP, or the
    configuration of the network in whose folder they lie.
    """
    for part in contents.left_over:
        is_number = all(size == 1 for size in part.shape)
        if is_number and part.name.rpartition(".")[2] in TEMPERATURES:
            return "temperature", part.name
    if encoder is not None and encoder[0]:
        return encoder
    return None


def _encoder_of_outputs(path: Path | None) -> tuple[str, str] | None:
    """Return how the encoder next to a file was trained, and the file that says so.

    That file describes the outputs of the encoder. None is returned for a checkpoint,
    which holds arrays of the network, such as the table of its tokens. Training did not
    compare those with each other.
    """
    if path is None or path.suffix.lower() in CHECKPOINTS:
        return None
    return encoder_of(path.parent)
