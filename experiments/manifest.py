"""The manifest of a sweep: what names it, what tables it has, and the sessions it has seen.

In comes a folder; out comes its manifest, whole, or the one line that says why there is none. A manifest that
says of another sweep is refused with the difference shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.identity import Identity, differences_between, digest_of
from experiments.parquet import Columns
from simulator.errors import InputError

MANIFEST = "manifest.json"

FORMAT = "rewritelab sweep 3"
"""First line of every manifest of ours; a new number when older folders can no longer be resumed."""

RUNS, FAILURES = "runs", "failures"
"""The table with one row a run, and that of the runs that failed."""

FAILED = "failed_stage"
"""The column of the runs that is None where a run did not fail, and `skipped` where it was never begun."""

LARGEST_SWEEP = 10**9
"""Runs of a sweep at most; a manifest that says more is damaged."""

WHOLE = {"digest": str, "size": int, "tables": dict, "identity": dict, "sessions": list}
"""Keys of a manifest, and what they hold."""

KINDS = {kind.__name__: kind for kind in (str, int, float, bool)}
"""Types of columns, by their names in a manifest."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a sweep's manifest: what it is, and `sessions` with their wall-clock times.

    Raises
    ------
    InputError
        If the folder is not a sweep's.
    """
    found = manifest_of(Path(folder))
    if found is None:
        raise InputError("there is no manifest.json", where=str(folder), expected="the folder of a sweep")
    return found


def manifest_of(folder: Path, *, damaged_too: bool = False) -> dict[str, Any] | None:
    """Return what a folder's manifest holds, None where there is none.

    Raises InputError for one that cannot be read, is none of a sweep's or, unless `damaged_too`, is damaged.
    """
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot be read ({reason})", where=str(path), expected="the manifest of a sweep"
        ) from error
    form = found.get("format") if isinstance(found, dict) else None
    if not isinstance(form, str) or not form.startswith(FORMAT.rstrip("0123456789")):
        raise InputError("is not the manifest of a sweep", where=str(path), expected=f"format {FORMAT!r}")
    whole: dict[str, Any] = found
    if damaged_too:
        return whole
    if form != FORMAT:
        raise InputError(
            f"is of format {form!r}",
            where=str(path),
            expected=f"format {FORMAT!r}: another folder, or --fresh to discard its runs",
        )
    if not _is_whole(whole):
        raise InputError(
            "is damaged", where=str(path), expected="a sweep and its sessions; sweep with --fresh"
        )
    return whole


def columns_in(manifest: Mapping[str, Any]) -> dict[str, Columns]:
    """Return the tables that a manifest declares, with their columns. Raises where they are none."""
    return {
        table: {name: KINDS[kind] for name, kind in columns.items()}
        for table, columns in manifest["tables"].items()
    }


def require_identity(found: Mapping[str, Any], identity: Identity, folder: Path) -> None:
    """Raise InputError, which shows the difference, where a folder is that of another sweep."""
    there = found["identity"]
    if there != json.loads(json.dumps(identity)):
        raise InputError(
            f"the folder holds the runs of another sweep: {differences_between(there, identity)}",
            where=str(folder),
            expected="the experiment that began it, another folder, or --fresh to discard its runs",
        )


def _is_whole(found: Mapping[str, Any]) -> bool:
    """Return whether a manifest holds all that is read of it; its digest is that of its identity."""
    try:
        columns = columns_in(found)
        sessions = [*found["sessions"]]
        return (
            all(type(found[key]) is kind for key, kind in WHOLE.items())
            and 0 <= found["size"] <= LARGEST_SWEEP
            and found["digest"] == digest_of(found["identity"])
            and FAILED in columns[RUNS]
            and FAILURES in columns
            and bool(sessions)
            and all(map(_is_session, sessions))
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _is_session(session: Mapping[str, Any]) -> bool:
    command, ended = session.get("command", []), session["ended"]
    words = [session["started"], ended or "", *([command] if isinstance(command, str) else command)]
    kinds = isinstance(command, str | list) and isinstance(session.get("file", {}), dict)
    return kinds and all(isinstance(word, str) for word in words)
