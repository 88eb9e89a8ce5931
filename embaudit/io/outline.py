"""The structure of a pickle, read from its operations without running any of them.

A pickle is a program for a stack machine. `outline` follows how the program builds
dictionaries, lists and arrays. Where `pickle` would import a class and call it,
`outline` records the name of the class.
"""

from __future__ import annotations

import pickletools
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from embaudit.io.unpacked import member

MOST_OPERATIONS = 10**6
"""Largest number of operations that are followed, which takes about two seconds."""
MOST_BYTES = 2**28
"""Largest number of bytes of a pickle that are read."""
TENSORS = (
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
)
"""Functions that return a tensor of PyTorch or a parameter of a network."""
ARRAYS = ("_reconstruct", "_frombuffer")
"""Endings of the names of functions that return an array of NumPy."""
MAPPINGS = ("collections.OrderedDict", "collections.defaultdict", "collections.Counter")
"""Classes that are filled like a dictionary."""
MAGIC = 0x1950A86A20F9469CFC6C
"""The first pickle in a file of PyTorch before version 1.6. Two more pickles follow,
with the version of the protocol and the sizes of numbers, and then that of the data.
"""
DAMAGE = (
    OSError,
    ValueError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Errors that reading a file can raise if it is cut off, altered, or no pickle."""


@dataclass(eq=False)
class Built:
    """An object that a pickle builds by calling a class or a function."""

    name: str
    """Module and name of the class or function, such as "argparse.Namespace"."""
    arguments: object = ()
    """Arguments of the call."""
    state: object = None
    """State that the object gets after the call; None if there is none."""

    @property
    def is_tensor(self) -> bool:
        """True for a tensor or a parameter of PyTorch."""
        return self.name in TENSORS

    @property
    def is_array(self) -> bool:
        """True for an array of NumPy."""
        return self.name.startswith("numpy.") and self.name.endswith(ARRAYS)

    @property
    def is_numeric(self) -> bool:
        """True for a tensor or an array."""
        return self.is_tensor or self.is_array

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of a tensor or an array; empty if it is not known."""
        arguments = self.arguments if isinstance(self.arguments, tuple) else ()
        if "_rebuild_parameter" in self.name:
            tensor = arguments[0] if arguments else None
            return tensor.shape if isinstance(tensor, Built) else ()
        if self.name.endswith("_reconstruct"):
            # The state of the array is a version, the shape, and more.
            state = self.state if isinstance(self.state, tuple) else ()
            shape = state[1] if len(state) > 1 else ()
        else:
            # The arguments for a tensor are its numbers, an offset and the shape; those
            # of `_frombuffer` are the numbers, their type and the shape.
            shape = arguments[2] if len(arguments) > 2 else ()
        return shape if isinstance(shape, tuple) else ()


@dataclass(frozen=True, eq=False)
class Class:
    """A class or function that a pickle names."""

    name: str


@dataclass(eq=False)
class Outline:
    """The structure of a pickle."""

    root: object
    """The object in the pickle: dictionaries, lists, texts and numbers as they are, and
    `Built` for all other objects. None if nothing is known, for example because the
    file is damaged.
    """
    imports: frozenset[str] = frozenset()
    """Classes and functions that loading would import."""
    is_whole: bool = True
    """False if the pickle is damaged, or has more operations than are followed."""
    is_script: bool = False
    """True for a network that TorchScript saved with its code."""


def outline(path: Path) -> Outline:
    """Return the structure of a pickle, or of the pickle in a file of PyTorch.

    Examples
    --------
    >>> import pickle
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.pkl")
    ...     _ = file.write_bytes(pickle.dumps({"ids": [1, 2], "path": Path("x")}))
    ...     found = outline(file)
    >>> found.root["ids"], found.root["path"].name, found.imports
    ([1, 2], 'pathlib.PosixPath', frozenset({'pathlib.PosixPath'}))
    """
    machine = _Machine()
    is_script = False
    try:
        content, is_script = _content(path)
        machine.run(content)
    except DAMAGE:
        # For example, joblib writes the numbers of arrays between the operations. The
        # operations before them have been followed.
        machine.close()
    return Outline(
        machine.root, frozenset(machine.imports), machine.is_whole, is_script
    )


def _content(path: Path) -> tuple[bytes, bool]:
    """Return the bytes of the pickle, and whether TorchScript wrote the file."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            return file.read(MOST_BYTES), False
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        is_script = any(name.endswith("/constants.pkl") for name in names)
        pickles = [name for name in names if name.endswith("data.pkl")]
        # Without a pickle the archive does not tell which arrays it holds.
        content = member(archive, pickles[0]) if pickles else b""
        return content, is_script


@dataclass(eq=False)
class _Machine:
    """A stack machine that follows a pickle and calls nothing."""

    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    """Heights of the stack at which the values of the open containers begin."""
    memo: dict[int, Any] = field(default_factory=dict)
    """Values that later operations can push again, by number."""
    imports: set[str] = field(default_factory=set)
    result: Any = None
    """The object of the pickle, once its last operation has been followed."""
    is_whole: bool = True

    @property
    def root(self) -> Any:
        """The object of the pickle, or its outermost container if it is cut off."""
        if self.result is None and self.stack:
            return self.stack[0]
        return self.result

    def run(self, content: bytes) -> None:
        """Follow the operations, at most `MOST_OPERATIONS` of each pickle."""
        stream = BytesIO(content)
        self._run_one(stream)
        if self.result == MAGIC:
            # Three more pickles follow; the last one is that of the data.
            for _ in range(3):
                self.stack = []
                self.marks = []
                self.memo = {}
                self.result = None
                self._run_one(stream)

    def _run_one(self, stream: BytesIO) -> None:
        operations = islice(pickletools.genops(stream), MOST_OPERATIONS)
        for operation, argument, _ in operations:
            self._follow(operation.name, argument)
        if self.result is None:
            self.close()

    def close(self) -> None:
        """Fill the outermost container if the operations end before it is whole.

        The last entry is dropped, because it can be incomplete.
        """
        self.is_whole = False
        if not self.marks or self.marks[0] == 0:
            return
        start = self.marks[0]
        container = self.stack[start - 1]
        # The values of an inner container begin at the next mark.
        stop = self.marks[1] if len(self.marks) > 1 else len(self.stack)
        values = self.stack[start:stop]
        n_kept = max(len(values) - 1, 0)
        if isinstance(container, dict):
            # Keys and values alternate, so an even number of entries is whole.
            n_kept -= n_kept % 2
        self._fill(container, values[:n_kept])

    def _follow(self, name: str, argument: Any) -> None:
        """Change the stack as one operation of a pickle does."""
        if name in IGNORED:
            return
        if name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in EMPTY:
            self.stack.append(EMPTY[name]())
        elif name in OPERATIONS:
            OPERATIONS[name](self, argument)
        else:
            # All other operations push a text, a number or bytes.
            self.stack.append(argument)

    def stop(self, _argument: Any) -> None:
        """Return the object on the stack."""
        self.result = self.stack.pop()

    def mark(self, _argument: Any) -> None:
        """Open a container."""
        self.marks.append(len(self.stack))

    def remember(self, argument: Any) -> None:
        """Store the last value in the memo, by default under the next number."""
        key = len(self.memo) if argument is None else int(argument)
        self.memo[key] = self.stack[-1]

    def recall(self, argument: Any) -> None:
        """Take a value from the memo."""
        self.stack.append(self.memo[int(argument)])

    def drop(self, _argument: Any) -> None:
        """Drop the last value, or close a container without values."""
        if self.marks and self.marks[-1] == len(self.stack):
            self.marks.pop()
        else:
            self.stack.pop()

    def drop_values(self, _argument: Any) -> None:
        """Drop the values of a container."""
        self._values()

    def repeat(self, _argument: Any) -> None:
        """Put the last value on the stack again."""
        self.stack.append(self.stack[-1])

    def make_dict(self, _argument: Any) -> None:
        """Build a dictionary from the values of a container."""
        values = self._values()
        self.stack.append({})
        self._fill(self.stack[-1], values)

    def make_list(self, _argument: Any) -> None:
        """Build a list, also in place of a frozen set."""
        self.stack.append(self._values())

    def make_tuple(self, _argument: Any) -> None:
        """Build a tuple from the values of a container."""
        self.stack.append(tuple(self._values()))

    def fill(self, _argument: Any) -> None:
        """Fill a dictionary, a list or a set with the values of a container."""
        values = self._values()
        self._fill(self.stack[-1], values)

    def append(self, _argument: Any) -> None:
        """Append one value to a list."""
        self._fill(self.stack[-2], [self.stack.pop()])

    def set_item(self, _argument: Any) -> None:
        """Put one entry into a dictionary."""
        key, value = self._take(2)
        self._fill(self.stack[-1], [key, value])

    def persistent(self, _argument: Any) -> None:
        """Record a value outside the pickle, such as the numbers of a tensor."""
        self.stack[-1] = Built("persistent", self.stack[-1])

    def name_class(self, argument: Any) -> None:
        """Record a class whose module and name the operation holds."""
        self.stack.append(self._imported(argument.replace(" ", ".", 1)))

    def name_class_on_stack(self, _argument: Any) -> None:
        """Record a class whose module and name are the last values."""
        module, name = self._take(2)
        self.stack.append(self._imported(f"{module}.{name}"))

    def call(self, _argument: Any) -> None:
        """Record the call of a class or a function with a tuple of arguments."""
        function, arguments = self._take(2)
        self.stack.append(_call(function, arguments))

    def call_with_keywords(self, _argument: Any) -> None:
        """Record the call of a class with arguments and keywords."""
        function, arguments, _keywords = self._take(3)
        self.stack.append(_call(function, arguments))

    def call_named(self, argument: Any) -> None:
        """Record the call of a class that the operation names."""
        function = self._imported(argument.replace(" ", ".", 1))
        self.stack.append(_call(function, tuple(self._values())))

    def call_first(self, _argument: Any) -> None:
        """Record the call of the first value of a container with the others."""
        function, *arguments = self._values()
        self.stack.append(_call(function, tuple(arguments)))

    def build(self, _argument: Any) -> None:
        """Record the state that an object gets."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], Built):
            self.stack[-1].state = state

    def _take(self, n_values: int) -> list[Any]:
        """Take the last values from the stack."""
        values = self.stack[-n_values:]
        del self.stack[-n_values:]
        return values

    def _imported(self, name: str) -> Class:
        self.imports.add(name)
        return Class(name)

    def _values(self) -> list[Any]:
        """Take the values of the container that was opened last from the stack."""
        place = self.marks.pop()
        values = self.stack[place:]
        del self.stack[place:]
        return values

    def _fill(self, container: Any, values: list[Any]) -> None:
        """Put entries into a dictionary or items into a list."""
        if isinstance(container, dict):
            pairs = zip(values[::2], values[1::2], strict=False)
            container.update((_key(key), value) for key, value in pairs)
        elif isinstance(container, list):
            container.extend(values)


IGNORED = ("PROTO", "FRAME", "READONLY_BUFFER")
"""Operations that change no value."""
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
"""Operations that push a constant."""
EMPTY = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": list,
}
"""Operations that push an empty container."""
OPERATIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "STOP": _Machine.stop,
    "MARK": _Machine.mark,
    "MEMOIZE": _Machine.remember,
    "PUT": _Machine.remember,
    "BINPUT": _Machine.remember,
    "LONG_BINPUT": _Machine.remember,
    "GET": _Machine.recall,
    "BINGET": _Machine.recall,
    "LONG_BINGET": _Machine.recall,
    "POP": _Machine.drop,
    "POP_MARK": _Machine.drop_values,
    "DUP": _Machine.repeat,
    "DICT": _Machine.make_dict,
    "LIST": _Machine.make_list,
    "FROZENSET": _Machine.make_list,
    "TUPLE": _Machine.make_tuple,
    "TUPLE1": lambda machine, _: machine.stack.append(tuple(machine._take(1))),
    "TUPLE2": lambda machine, _: machine.stack.append(tuple(machine._take(2))),
    "TUPLE3": lambda machine, _: machine.stack.append(tuple(machine._take(3))),
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.fill,
    "APPEND": _Machine.append,
    "APPENDS": _Machine.fill,
    "ADDITEMS": _Machine.fill,
    "BINPERSID": _Machine.persistent,
    "GLOBAL": _Machine.name_class,
    "STACK_GLOBAL": _Machine.name_class_on_stack,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "NEWOBJ_EX": _Machine.call_with_keywords,
    "INST": _Machine.call_named,
    "OBJ": _Machine.call_first,
    "BUILD": _Machine.build,
}
"""Methods of the machine by the names of operations in `pickletools`."""


def _key(key: Any) -> Any:
    """Return a text or a number as it is, and the name of its type for other keys."""
    if isinstance(key, str | int | float):
        return key
    return f"<{type(key).__name__}>"


def _call(function: Any, arguments: Any) -> Any:
    """Return a dictionary if a class of mappings is called, otherwise `Built`."""
    name = function.name if isinstance(function, Class) else "unknown"
    # Old protocols call a function whose first argument is the class.
    is_indirect = name in ("copy_reg._reconstructor", "copyreg._reconstructor")
    if is_indirect and arguments and isinstance(arguments[0], Class):
        name = arguments[0].name
    return {} if name in MAPPINGS else Built(name, arguments)
