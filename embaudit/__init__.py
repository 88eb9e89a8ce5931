"""Audit embedding similarity: how far can cosines move while every prediction stays the same?"""


def __getattr__(name: str) -> object:
    """Import a name from its home, which __init__.pyi tells, when it is first used."""
    # Not before: the command needs none of it, and Ctrl-C while it is imported could not be caught.
    import lazy_loader

    found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
    globals().update(__getattr__=found, __dir__=__dir__, __all__=__all__)
    return __all__ if name == "__all__" else found(name)


def __dir__() -> list[str]:
    """List the public names."""
    return list(__getattr__("__all__"))  # type: ignore[call-overload]
