"""Options that several commands share: dataclasses whose fields are options.

Typer reads options from the signature of a command only. `with_groups` lets a command
name a whole dataclass in its signature instead of its fields: seven commands read a
model, and would have to repeat 23 options each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar, cast, get_args, get_type_hints

from typer import Context, Exit, Option, echo

from embaudit.core.typed import Typed

C = TypeVar("C", bound=Callable[..., None])
G = TypeVar("G")


def with_groups(command: C) -> C:
    """Return a command with the fields of each group as parameters of its own.

    A parameter whose annotation is a dataclass is a group. At a call the values of its
    fields are put together again. An option that the command declares itself replaces
    that of a group.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: Annotated[int, Option(help="Columns.")] = 3
    >>> def draw(size, name="x"):
    ...     print(name, size)
    >>> draw.__annotations__ = {"size": Size, "name": str}
    >>> list(signature(with_groups(draw)).parameters)
    ['width', 'name']
    >>> with_groups(draw)(width=4, name="y")
    y Size(width=4)
    """
    hints = get_type_hints(command, include_extras=True)
    own: dict[str, Parameter] = {}
    groups: dict[str, type] = {}
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters |= parameters_of(hints[name])
        else:
            own[name] = parameter.replace(
                annotation=hints[name], kind=Parameter.KEYWORD_ONLY
            )
            parameters[name] = own[name]
    parameters |= own
    if any(_is_hidden(parameter) for parameter in parameters.values()):
        parameters["help_all"] = HELP_ALL

    @wraps(command)
    def with_options(**values: Any) -> None:
        arguments = {name: values[name] for name in own}
        for name, group in groups.items():
            arguments[name] = group_from(group, values)
        command(**arguments)

    # Typer reads the signature and its evaluated annotations.
    with_options.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    with_options.__annotations__ = {
        name: parameter.annotation for name, parameter in parameters.items()
    }
    return cast(C, with_options)


def _show_all(context: Context, is_typed: bool) -> None:
    """Print the help of a command with its rare options, and exit."""
    if not is_typed:
        return
    command = copy(context.command)
    command.params = [copy(parameter) for parameter in command.params]
    for parameter in command.params:
        if parameter.param_type_name == "option":
            parameter.hidden = False  # type: ignore[attr-defined]
    echo(command.get_help(context))
    raise Exit


HELP_ALL = Parameter(
    "help_all",
    Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        Option(
            "--help-all",
            is_eager=True,
            callback=_show_all,
            help="Show this message with all options, and exit.",
        ),
    ],
)
"""Option of each command that has rare options."""


def _is_hidden(parameter: Parameter) -> bool:
    """Return True for an option that `--help` does not list."""
    descriptions = get_args(parameter.annotation)[1:]
    return any(getattr(one, "hidden", False) for one in descriptions)


def parameters_of(group: type) -> dict[str, Parameter]:
    """Return the fields of a group as parameters of a command.

    A field is an option if Typer's `Option` annotates it, or if its metadata describe
    it (`embaudit.core.typed`), as those of `AuditOptions` do. Other fields are no
    options of a command.
    """
    parameters = {}
    if any("typed" in field.metadata for field in fields(group)):
        # Annotations are not evaluated: their types take a second to import. Defaults
        # stand in the dataclass alone: None means that an option was not typed.
        for field in fields(group):
            if "typed" in field.metadata:
                hint, default = _option_of(field.name, field.metadata["typed"])
                parameters[field.name] = _keyword(field.name, hint, default)
        return parameters
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        hint = hints[field.name]
        if any(isinstance(one, type(Option())) for one in get_args(hint)[1:]):
            parameters[field.name] = _keyword(field.name, hint, field.default)
    return parameters


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    """Return a parameter that is passed by its name."""
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _option_of(name: str, typed: Typed) -> tuple[Any, Any]:
    """Return the annotation that Typer reads, and the value if nothing was typed."""
    flag = f"--{name.replace('_', '-')}"
    option = Option(
        flag, help=typed.help, rich_help_panel=typed.panel, hidden=typed.is_rare
    )
    if typed.type is bool:
        # A flag that names itself has no counterpart `--no-…`.
        return Annotated[bool, option], False
    return Annotated[typed.type | None, option], None


def group_from(group: type[G], values: Mapping[str, Any]) -> G:
    """Put a group together from the values of a command; None is its own default."""
    given = {}
    for field in fields(group):  # type: ignore[arg-type]
        if values.get(field.name) is not None:
            given[field.name] = values[field.name]
    return group(**given)
