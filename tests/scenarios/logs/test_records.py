"""Files that are no logs: each is told in one line, with the place where it goes wrong."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from scenarios.logs import detect_format, read_sessions, records
from simulator.errors import InputError

pytestmark = pytest.mark.unit

USER = '{"type":"user","message":{"role":"user","content":"hello"}}'


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_sessions(path, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.isprintable()
    assert str(path)[:40] in message
    return message


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_missing_file_names_its_neighbour(tmp_path):
    write(tmp_path / "session.jsonl", USER)
    assert "no such file" in refusal(tmp_path / "sesion.jsonl")
    assert "did you mean 'session.jsonl'" in refusal(tmp_path / "sesion.jsonl")
    assert "folder cannot be read" in refusal(tmp_path / "nowhere" / "log")


def test_a_folder_a_pipe_and_an_impossible_path(tmp_path):
    assert "is a folder" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(tmp_path / "pipe")
    assert "too long" in refusal(tmp_path / ("x" * 300))
    with pytest.raises(InputError):
        read_sessions("nul\0byte")
    write(tmp_path / "file", USER)
    assert "not a directory" in refusal(tmp_path / "file" / "log")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = write(tmp_path / "log", USER)

    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Tests may run as a user who may read anything.
    monkeypatch.setattr(Path, "open", forbidden)
    assert "permission denied" in refusal(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n ", "holds no record"),
        (b"[]", "holds no record"),
        (b"\x7fELF\0\0\0\0", "NUL bytes"),
        ("text".encode("utf-16"), "NUL bytes"),
        (b"\xff\xd8\xff\xe0 not json", "line 1: is not JSON"),
        (b"hello world\n", "line 1: is not JSON"),
        (
            b"{}\n",
            "the log's format is not known; expected a log in one of the formats claude_code, "
            "openhands, pi, tau_bench",
        ),
        (b"[1, 2]", "the log's format is not known"),
        (b'{"type":"user","message":{"con', "the file ends inside its first record"),
        (b'[{"traj":[{"role":"us', "the file ends inside its first record"),
        (b'{"a": ' + b"9" * 5000 + b"}", "line 1: is not JSON (a number is too long)"),
    ],
)
def test_content_that_is_no_log(tmp_path, content, said):
    assert said in refusal(write(tmp_path / "log", content))


def test_a_log_without_messages(tmp_path):
    path = write(tmp_path / "log", '{"type":"summary","summary":"title","leafUuid":"u"}\n')
    assert "holds no message" in refusal(path)


def test_a_named_format_is_believed_and_then_found_wanting(tmp_path):
    path = write(tmp_path / "log", '[{"traj":[{"role":"user","content":"a"}]}]')
    assert "holds no message" in refusal(path, format="claude_code")
    assert "holds no trajectory" in refusal(write(path, USER), format="tau_bench")
    with pytest.raises(InputError, match="did you mean 'claude_code'"):
        read_sessions(path, format="claude-code")


def test_the_name_of_a_file_says_nothing_about_its_format(tmp_path):
    assert detect_format(write(tmp_path / "tau_bench.json", USER)) == "claude_code"


def test_a_byte_order_mark_is_no_content(tmp_path):
    assert len(read_sessions(write(tmp_path / "log", b"\xef\xbb\xbf" + USER.encode()))[0].messages) == 1


def test_windows_line_ends(tmp_path):
    assert len(read_sessions(write(tmp_path / "log", f"{USER}\r\n{USER}\r\n"))[0].messages) == 2


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_names_its_line(tmp_path, opening):
    deep = opening * 200_000
    assert "line 2: is nested too deeply" in refusal(write(tmp_path / "log", f"{USER}\n{deep}\n{USER}\n"))
    assert "nested too deeply" in refusal(write(tmp_path / "log", deep))


@pytest.mark.parametrize("depth", range(940, 1000, 3))
def test_nesting_close_to_the_limit_is_read_or_refused(tmp_path, depth):
    arguments = "[" * depth + "]" * depth
    call = f'{{"type":"assistant","message":{{"content":[{{"type":"tool_use","input":{arguments}}}]}}}}'
    path = write(tmp_path / "log", f"{USER}\n{call}\n{USER}\n")
    try:
        assert len(read_sessions(path)[0].messages) == 3
    except InputError as error:
        assert "line 2: is nested too deeply" in str(error)


def test_a_line_over_the_bound_is_refused_in_bounded_memory(tmp_path):
    path = tmp_path / "log"
    with path.open("w") as file:
        file.write(USER + "\n")
        file.write('{"type":"user","message":{"content":"')
        for _ in range(50):
            file.write("x" * 1_000_000)
        file.write('"}}\n')
    tracemalloc.start()
    try:
        assert "line 2: is longer than 32 MiB" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * records.RECORD_BYTES
    finally:
        tracemalloc.stop()


def test_the_first_record_over_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RECORD_BYTES", 1000)
    path = write(tmp_path / "log", json.dumps({"type": "user", "message": {"content": "x" * 3_000_000}}))
    assert "line 1: is longer than" in refusal(path)


def test_nul_bytes_in_the_middle_are_a_broken_line(tmp_path):
    path = write(tmp_path / "log", f"{USER}\n".encode() * 200 + b"\0" * 50 + f"\n{USER}\n".encode())
    assert "line 201: is not JSON" in refusal(path)


def test_nul_bytes_at_the_end_are_what_a_crash_leaves(tmp_path):
    path = write(tmp_path / "log", f"{USER}\n".encode() * 200 + b"\0" * 50)
    assert len(read_sessions(path)[0].messages) == 200


@pytest.mark.parametrize("figure", [0, -1, float("nan"), float("inf"), 1e-9])
def test_a_figure_that_no_vocabulary_has(tmp_path, figure):
    path = write(tmp_path / "log", USER)
    with pytest.raises(InputError, match=r"bytes_per_token: cannot be .*expected a number from 0\.1 to 100"):
        read_sessions(path, bytes_per_token=figure)


def test_the_package_is_lazy_and_knows_its_names():
    import scenarios.logs as package

    assert dir(package) == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018
