"""Audit embedding similarity: how far can cosines move while every prediction stays the same?

Names of earlier versions say what takes their place:

>>> import embaudit
>>> embaudit.resume_in
Traceback (most recent call last):
    ...
AttributeError: embaudit.resume_in is gone; run the audit again, it is short enough.
>>> embaudit.other
Traceback (most recent call last):
    ...
AttributeError: No embaudit attribute other
"""


def __getattr__(name: str) -> object:
    """Import a name from its home, which __init__.pyi tells, when it is first used."""
    # Not before: the command needs none of it, and Ctrl-C while it is imported could not be caught.
    import lazy_loader

    from embaudit.errors import gone

    load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

    def public(name: str) -> object:
        if remedy := gone().get(f"name embaudit.{name}"):
            raise AttributeError(f"embaudit.{name} is gone; {remedy}.")
        return __all__ if name == "__all__" else load(name)

    globals().update(__getattr__=public, __dir__=__dir__, __all__=__all__)
    return public(name)


def __dir__() -> list[str]:
    """List the public names."""
    return list(__getattr__("__all__"))  # type: ignore[call-overload]
