"""Groups of options: declared once, and the same on every command that takes the group as one parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, isclass, signature
from typing import Any, Self, get_type_hints


class Group:
    """Options that go together: the fields of a dataclass, annotated as typer has them."""

    @classmethod
    def declared(cls) -> dict[str, tuple[Any, Any]]:
        """Annotations and defaults of the options, by their names."""
        hints = get_type_hints(cls, include_extras=True)
        return {each.name: (hints[each.name], each.default) for each in fields(cls)}  # type: ignore[arg-type]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Take the options of this group out of all those of a command."""
        return cls(**{name: values[name] for name in cls.declared()})


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each group among its parameters; an option that it declares itself is its own.

    Where two groups share an option, the last of them declares it.
    """
    # typer takes options from the signature alone: groups are spread out into it, and put together again at each call.
    hints, declared = get_type_hints(command, include_extras=True), signature(command).parameters
    groups = {name: hints[name] for name in declared if isclass(hints[name]) and issubclass(hints[name], Group)}
    own = {name: each.replace(annotation=hints[name]) for name, each in declared.items() if name not in groups}
    shared = {name: each for group in groups.values() for name, each in group.declared().items() if name not in own}
    parameters = [*own.values()] + [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in shared.items()
    ]

    @wraps(command)
    def with_options(**values: Any) -> None:
        made = {name: group.of(values) for name, group in groups.items()}
        command(**{name: values[name] for name in own}, **made)

    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_options
