"""What is imported only where it is used, because it may not be installed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def imported(module: str, what: str) -> ModuleType:
    """Return a module of an optional dependency.

    Parameters
    ----------
    module : str
        As ``"matplotlib.pyplot"``.
    what : str
        What needs it, in the plural.

    Raises
    ------
    ImportError
        If it is not installed, with what to do about it.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        message = f"{what} need {package}, which is not installed: pip install {package}"
        raise ImportError(message, name=package) from error
