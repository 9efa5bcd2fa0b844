"""The backend that functions are compiled for."""

from __future__ import annotations

from agnesi.core.backend import BACKENDS, Backend
from agnesi.core.support.config import config


def chosen() -> Backend:
    """The backend of functions that are compiled now."""
    return BACKENDS[config.target]()
