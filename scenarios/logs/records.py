"""JSON records out of files that nobody vouches for: streamed, bounded, and tolerant where it is safe.

Comes in: a path. Goes out: JSON values one by one with the place where each stood. Everything that
can be wrong with the file becomes an `InputError` that names the line; only what has been seen in
healthy logs is tolerated: two objects on one line, no newline at the end, a cut last record.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from scenarios.logs.opening import open_log
from simulator.errors import InputError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""What a JSON text can hold."""

RECORD_BYTES = 32 * 1024 * 1024
"""Longest record that is read: bytes of a line, characters of an element of a list."""

HEAD_RECORDS = 25
"""Records that are looked at to recognise a format."""

_CHUNK_BYTES = 1 << 20
_LONGEST_LITERAL = len("-Infinity")
_BLANK = " \t\r\n"
_BLANKS = re.compile(f"[{_BLANK}]*")
_STRUCTURE = re.compile(r'[\[\]{}:,"]')
_DECODER = json.JSONDecoder()

Container = Literal["list", "sequence"]
"""One JSON list, or values one after the other (JSON lines, or a single document)."""


class Record(NamedTuple):
    """One JSON value of a log, and where it stood (line from 1, or element from 0)."""

    place: int
    value: Json


class Head(NamedTuple):
    """The first records of a file, for recognising its format."""

    container: Container
    records: tuple[Json, ...]


class Tolerated:
    """What a stream let pass, counted."""

    def __init__(self) -> None:
        self.joined_lines = 0
        self.cut_at: str = ""
        self.text_after_end = False


def read_head(path: Path) -> Head:
    """Return the first records of the file.

    Raises
    ------
    InputError
        If the file cannot be opened, or its first record cannot be read.
    """
    container = _container(path)
    found: list[Json] = []
    try:
        for record in stream_values(path, Tolerated()):
            found.append(record.value)
            if len(found) == HEAD_RECORDS:
                break
    except InputError:
        if not found:
            raise
    return Head(container, tuple(found))


def stream_lines(path: Path, tolerated: Tolerated) -> Iterator[Record]:
    """Yield the JSON values of a file of JSON lines.

    A line that is not JSON is an error, unless it is the last one and a record came before it.

    Parameters
    ----------
    path : Path
        The file.
    tolerated : Tolerated
        Filled with what was let pass.

    Raises
    ------
    InputError
        Naming the line.
    """
    found = 0
    broken: InputError | None = None
    broken_at = 0
    with open_log(path) as file:
        number = 0
        while True:
            number += 1
            line = file.readline(RECORD_BYTES + 1)
            if not line:
                break
            if len(line) > RECORD_BYTES:
                raise _too_long(f"{path}: line {number}")
            text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace").strip(_BLANK)
            if not text:
                continue
            if broken is not None:
                raise broken
            where = f"{path}: line {number}"
            records, reason = _records_of_line(number, text, where)
            yield from records
            found += len(records)
            tolerated.joined_lines += len(records) > 1
            if reason:
                broken, broken_at = _not_json(where, reason), number
                # Without one good record before it, this is not a log that was cut.
                if not found:
                    raise broken
    if broken is not None:
        tolerated.cut_at = f"line {broken_at}"


def stream_values(path: Path, tolerated: Tolerated) -> Iterator[Record]:
    """Yield the elements of a JSON list, or JSON values that follow each other, a piece at a time.

    Parameters
    ----------
    path : Path
        The file.
    tolerated : Tolerated
        Filled with what was let pass; a file that ends inside an element keeps those before it.

    Raises
    ------
    InputError
        Naming the element.
    """
    with open_log(path) as raw:
        window = _Window(raw)
        is_list = window.peek() == "["
        if is_list:
            window.position += 1
        place = 0
        while True:
            letter = window.peek()
            if is_list and letter == "]":
                window.position += 1
                tolerated.text_after_end = bool(window.peek())
                return
            if is_list and letter and place:
                if letter != ",":
                    raise _not_json(f"{path}: after element {place - 1}", "a comma or ] is missing")
                window.position += 1
                letter = window.peek()
            if not letter:
                if is_list:
                    _cut(path, place, tolerated)
                return
            where = f"{path}: element {place}" if is_list else f"{path}: line {window.line()}"
            decoded = window.decode(where)
            if decoded is None:
                _cut(path, place, tolerated)
                return
            yield Record(place, decoded[0])
            place += 1


class _Window:
    """A sliding piece of a text file: what lies before `position` may be forgotten."""

    def __init__(self, raw: BinaryIO) -> None:
        self.position = 0
        self._file = raw
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._lines_before = 0
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is not blank, or an empty string at the end."""
        while True:
            self.position = _after_blanks(self._text, self.position)
            if self.position < len(self._text):
                return self._text[self.position]
            if self._ended:
                return ""
            self._grow()

    def line(self) -> int:
        """Return the line of the file at which `position` stands, from 1."""
        return self._lines_before + self._text.count("\n", 0, self.position) + 1

    def decode(self, where: str) -> tuple[Json] | None:
        """Return the value that starts at `position` (in a tuple), or None if the file ends inside it."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self.position)
            except RecursionError:
                raise too_deep(where) from None
            except json.JSONDecodeError as error:
                if not _ends_inside(error, self._text):
                    raise _not_json(where, error.msg) from None
                if self._ended:
                    return None
            except ValueError:
                raise _not_json(where, "a number is too long") from None
            else:
                # A number at the very end of what was read may go on in the next piece.
                if end < len(self._text) or self._ended:
                    self.position = end
                    return (value,)
            if len(self._text) - self.position > RECORD_BYTES:
                raise _too_long(where)
            self._grow()

    def _grow(self) -> None:
        kept = self._text[self.position :]
        self._lines_before += self._text.count("\n", 0, self.position)
        self.position = 0
        # As much again as is kept, so that decoding anew stays linear in all.
        wanted = min(max(_CHUNK_BYTES, len(kept)), RECORD_BYTES + _CHUNK_BYTES - len(kept))
        more = self._file.read(wanted)
        self._ended = not more
        self._text = kept + self._decoder.decode(more, final=self._ended)


def _records_of_line(number: int, text: str, where: str) -> tuple[list[Record], str]:
    """Return the good values of a line, and why the rest of it is none (or an empty string)."""
    records: list[Record] = []
    position = 0
    while position < len(text):
        try:
            value, end = _DECODER.raw_decode(text, position)
        except RecursionError:
            raise too_deep(where) from None
        except json.JSONDecodeError as error:
            return records, error.msg
        except ValueError:
            raise _not_json(where, "a number is too long") from None
        records.append(Record(number, value))
        position = _after_blanks(text, end)
    return records, ""


def _after_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position


def _ends_inside(error: json.JSONDecodeError, text: str) -> bool:
    """Return whether a value is broken only because the text ends: in a string, a word or a number."""
    if error.msg.startswith("Unterminated string"):
        return True
    return error.pos >= len(text) - _LONGEST_LITERAL and not _STRUCTURE.search(text, error.pos)


def _cut(path: Path, place: int, tolerated: Tolerated) -> None:
    if not place:
        raise InputError("the file ends inside its first record", where=str(path), expected="a complete log")
    tolerated.cut_at = f"element {place}"


def _container(path: Path) -> Container:
    with open_log(path) as raw:
        return "list" if _Window(raw).peek() == "[" else "sequence"


def _not_json(where: str, reason: str) -> InputError:
    return InputError(f"is not JSON ({reason.lower()})", where=where, expected="a JSON record")


def too_deep(where: str) -> InputError:
    """Return the error for a record whose nesting the decoder, or a reader, cannot follow."""
    return InputError("is nested too deeply", where=where, expected="a JSON record of ordinary depth")


def _too_long(where: str) -> InputError:
    limit = RECORD_BYTES // (1024 * 1024)
    return InputError(f"is longer than {limit} MiB", where=where, expected=f"a record of at most {limit} MiB")
