"""Recorded sessions of real agents: one reader a format, one plain `Session` out of each.

Names are loaded where they are first used, so that importing this package costs nothing.

>>> from scenarios.logs import FORMATS
>>> "claude_code" in FORMATS
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.logs.formats import FORMATS as FORMATS
    from scenarios.logs.formats import LogFormat as LogFormat
    from scenarios.logs.formats import Pick as Pick
    from scenarios.logs.formats import detect_format as detect_format
    from scenarios.logs.formats import load_format as load_format
    from scenarios.logs.formats import pick_session as pick_session
    from scenarios.logs.formats import read_sessions as read_sessions
    from scenarios.logs.session import Citation as Citation
    from scenarios.logs.session import Message as Message
    from scenarios.logs.session import Rewrite as Rewrite
    from scenarios.logs.session import Session as Session
    from scenarios.logs.session import Usage as Usage

_HOME = {
    "FORMATS": "formats",
    "LogFormat": "formats",
    "Pick": "formats",
    "detect_format": "formats",
    "load_format": "formats",
    "pick_session": "formats",
    "read_sessions": "formats",
    "Citation": "session",
    "Message": "session",
    "Rewrite": "session",
    "Session": "session",
    "Usage": "session",
}

__all__ = [
    "FORMATS",
    "Citation",
    "LogFormat",
    "Message",
    "Pick",
    "Rewrite",
    "Session",
    "Usage",
    "detect_format",
    "load_format",
    "pick_session",
    "read_sessions",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
