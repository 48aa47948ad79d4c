"""Small hand-made logs; the real ones are only read, in `test_real_logs.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

LogWriter = Callable[..., Path]


class Claude:
    """Records of a Claude Code session, one method a kind."""

    @staticmethod
    def user(content: object, **keys: object) -> dict[str, object]:
        return {"type": "user", "sessionId": "s", "message": {"role": "user", "content": content}, **keys}

    @staticmethod
    def assistant(
        block: object, request: str = "msg_1", usage: Mapping[str, int] | None = None, **keys: object
    ) -> dict[str, object]:
        message = {"role": "assistant", "id": request, "model": "m", "content": [block], "usage": usage or {}}
        return {"type": "assistant", "sessionId": "s", "message": {**message}, **keys}

    @staticmethod
    def text(text: str) -> dict[str, object]:
        return {"type": "text", "text": text}

    @staticmethod
    def call(call: str, name: str = "Read", **arguments: object) -> dict[str, object]:
        return {"type": "tool_use", "id": call, "name": name, "input": arguments}

    @classmethod
    def result(cls, call: str, content: object, **keys: object) -> dict[str, object]:
        return cls.user([{"type": "tool_result", "tool_use_id": call, "content": content}], **keys)

    @staticmethod
    def compaction(**figures: object) -> dict[str, object]:
        return {"type": "system", "subtype": "compact_boundary", "compactMetadata": figures}


@pytest.fixture
def claude() -> type[Claude]:
    return Claude


@pytest.fixture
def lines(tmp_path: Path) -> LogWriter:
    """Write values (or raw strings) as the lines of a file, whose name says nothing."""

    def write(*values: object, end: str = "\n") -> Path:
        path = tmp_path / "log"
        text = "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)
        path.write_text(text + end, encoding="utf-8")
        return path

    return write


@pytest.fixture
def tau(tmp_path: Path) -> LogWriter:
    """Write chats as a tau-bench file."""

    def write(*chats: list[dict[str, object]]) -> Path:
        path = tmp_path / "log"
        elements = [{"task_id": task, "trial": 0, "traj": chat} for task, chat in enumerate(chats)]
        path.write_text(json.dumps(elements, indent=1), encoding="utf-8")
        return path

    return write
