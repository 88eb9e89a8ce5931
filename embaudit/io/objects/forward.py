"""Calls of the `forward` of a network of torch, and what passes through its layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.arrays import as_array

Record: TypeAlias = "Callable[[str, tuple[Any, ...]], None]"
"""Gets the name of a layer and its positional arguments, before the layer runs."""


def call(network: Any, *inputs: Any) -> NDArray[Any]:
    """Return the outputs of a network for its inputs.

    Raises
    ------
    InputError
        If the network trains, refuses the inputs, or returns something else than one
        array.
    """
    name = type(network).__name__
    if getattr(network, "training", False):
        # Dropout would give other numbers each time, and batch norms would learn from
        # the inputs.
        raise must_be(
            name,
            "in evaluation mode",
            "a network in training mode",
            "call its eval() first",
        )
    try:
        outputs = network(*inputs)
    except (RuntimeError, TypeError, ValueError, LookupError, AttributeError) as error:
        lines = str(error).splitlines()
        reason = lines[0] if lines else type(error).__name__
        raise must_be(
            f"the inputs of {name}", "inputs that its forward accepts", reason
        ) from error
    if not hasattr(outputs, "shape"):
        raise must_be(
            f"the outputs of {name}",
            "one array",
            type(outputs).__name__,
            "say link= if it multiplies the arrays that were read",
        )
    return np.asarray(as_array(outputs), dtype=float)


def run_examples(
    network: Any, inputs: Any, layers: Mapping[str, Any], record: Record
) -> NDArray[Any]:
    """Return the outputs of a network for example inputs, and record calls of layers.

    Parameters
    ----------
    network : torch.nn.Module
        The network.
    inputs : array, mapping of arrays, or list of arrays
        The inputs of `forward`. A list or tuple of arrays are several inputs.
    layers : mapping
        Layers whose calls are recorded, by name.
    record : callable
        Gets the name of a layer and its arguments at each of its calls.
    """

    def hook(name: str, _layer: Any, arguments: tuple[Any, ...]) -> None:
        record(name, arguments)

    hooks = [
        layer.register_forward_pre_hook(partial(hook, name))
        for name, layer in layers.items()
    ]
    try:
        table = first_table(network)
        are_several = isinstance(inputs, tuple | list) and any(
            hasattr(values, "shape") for values in inputs
        )
        arguments = inputs if are_several else (inputs,)
        return call(network, *(as_tensor(values, table) for values in arguments))
    finally:
        for handle in hooks:
            handle.remove()


def first_table(network: Any) -> Any:
    """Return the first tensor of a network, which lies on its device."""
    return next(iter(network.state_dict().values()))


def as_tensor(values: Any, like: Any) -> Any:
    """Return values as a tensor on the device of another, or a mapping of tensors.

    Floating-point numbers get the type of the other tensor. Integers stay integers,
    because they are numbers of rows.
    """
    if hasattr(values, "detach"):
        return values
    if isinstance(values, Mapping):
        return {name: as_tensor(entry, like) for name, entry in values.items()}
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise must_be(
            "the inputs of a network", "numbers, or a dictionary of them", repr(values)
        )
    if array.dtype.kind in "iu":
        # Floating-point numbers would round numbers of rows: above 2**24 in single
        # precision, above 2,048 in half precision.
        like = like.reshape(-1)[:0].long()
    return like.new_tensor(array.tolist())


def items_come_first(names: Sequence[str]) -> bool | None:
    """Tell from the names of two inputs whether the items come before the users.

    None is returned if the first letters are not those of users and items.

    Examples
    --------
    >>> items_come_first(["users", "items"]), items_come_first(["item_id", "user_id"])
    (False, True)
    >>> items_come_first(["batch"]) is None
    True
    """
    first_letters = [name[:1] for name in names]
    if first_letters == ["u", "i"]:
        return False
    if first_letters == ["i", "u"]:
        return True
    return None
