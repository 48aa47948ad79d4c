"""What a message is made of, where its text says so by itself.

Comes in: the text of a message and what its images take. Goes out: one of the simulator's classes of
content, or nothing where only the kind of the message can say it. Counters that reckon by characters
err on each class in a way of their own.
"""

from __future__ import annotations

import json
import re

CJK_SHARE = 0.5
"""Share of the characters, blanks aside, from which a text is taken for one in a script of East Asia."""

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]")
_NOT_BLANK = re.compile(r"\S")


def content_class(text: str, text_tokens: int = 0, image_tokens: int = 0) -> str:
    """Return the class that the content shows, or an empty string.

    Parameters
    ----------
    text : str
        What goes to the model.
    text_tokens, image_tokens : int
        What the text and the images beside it take, tokens.

    >>> content_class('{"seats": [12, 13]}'), content_class("会议改到周五 10:00"), content_class("x = 1")
    ('json', 'cjk', '')
    >>> content_class("a screen", text_tokens=2, image_tokens=1500)
    'image'
    """
    if image_tokens > text_tokens:
        return "image"
    if _is_json(text):
        return "json"
    return "cjk" if _is_cjk(text) else ""


def _is_json(text: str) -> bool:
    """Return whether the text is one JSON object or list."""
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("{}", "[]"):
        return False
    try:
        json.loads(bare)
    except (ValueError, RecursionError):
        return False
    return True


def _is_cjk(text: str) -> bool:
    if text.isascii():
        return False
    return len(_CJK.findall(text)) >= CJK_SHARE * max(1, len(_NOT_BLANK.findall(text)))
