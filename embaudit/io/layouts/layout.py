"""The roles of the arrays of one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from embaudit.io.arrays import Tensor

Shape: TypeAlias = "tuple[int, ...]"
Shapes: TypeAlias = "Mapping[str, Shape]"


@dataclass(frozen=True)
class Layout:
    """Which array is which field of a model."""

    fields: Mapping[str, str]
    """Names of arrays by the field of a model that they hold (`left`, `right`,
    `right_bias`, `left_ids`, …).
    """
    head: bool = False
    """True for the weights of a softmax head."""
    transposed: frozenset[str] = frozenset()
    """The sides that are stored with one column per entity."""
    title: str = ""
    """Title of the recipe that fitted, or the reason without a recipe, for reports."""

    @property
    def right(self) -> str:
        """Name of the right factors."""
        return self.fields["right"]

    @property
    def is_pair(self) -> bool:
        """True for two tables whose products are scores."""
        return "left" in self.fields and not self.head

    def shapes(self, tensors: Mapping[str, Tensor]) -> dict[str, Shape]:
        """Return (rows, columns) of each side, the right one first."""
        shapes = {}
        for side in ("right", "left"):
            if side in self.fields:
                shape = tensors[self.fields[side]].shape
                shapes[side] = shape[::-1] if side in self.transposed else shape
        return shapes

    def n_rows(self, tensors: Mapping[str, Tensor]) -> int:
        """Return the number of rows of the right side."""
        shape = tensors[self.right].shape
        return shape[1] if "right" in self.transposed else shape[0]

    def left_over(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the arrays that hold no field of the model.

        Examples
        --------
        >>> layout = Layout({"right": "Q", "right_bias": "b"})
        >>> tensors = {"Q": Tensor((3, 2), "float64"), "x": Tensor((3,), "int64")}
        >>> layout.left_over(tensors)
        {'x': Tensor(shape=(3,), dtype='int64')}
        """
        return {
            name: tensor
            for name, tensor in tensors.items()
            if name not in self.fields.values()
        }


def squeezed(shape: Shape) -> Shape:
    """Drop axes of length 1 of an array with more than two axes, if a matrix is left.

    The last two axes of a convolution have length 1 as well; it is no matrix.

    Examples
    --------
    >>> squeezed((1, 9, 512)), squeezed((2, 9, 512)), squeezed((16, 8, 1, 1))
    ((9, 512), (2, 9, 512), (16, 8, 1, 1))
    """
    sizes = tuple(size for size in shape if size != 1)
    is_convolution = shape[-2:] == (1, 1)
    if len(shape) > 2 and len(sizes) == 2 and not is_convolution:
        return sizes
    return shape
