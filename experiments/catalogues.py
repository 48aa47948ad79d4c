"""The four catalogues as one: what there is, and what stands in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.reports import printable_json
from simulator.catalogue import names, read_head, read_text, read_toml
from simulator.errors import InputError, nearest_name

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "scenarios": ROOT / "scenarios" / "catalogue",
    "policies": ROOT / "policies" / "catalogue",
    "experiments": ROOT / "experiments" / "catalogue",
    "prices": ROOT / "scenarios" / "prices",
}
"""Catalogues by the word that `list` takes."""


TELLING = {
    "policies": {"class", "deliberation", "replacement", "selector", "trigger"},  # it may have a window too
    "scenarios": {"workload", "window"},
    "experiments": {"factor"},
    "prices": {"currency"},
}
"""Keys by which a file of a user's own is known."""


class Entry(NamedTuple):
    """One row of the listing; what only a policy says of itself is empty for the rest."""

    kind: str
    name: str
    summary: str
    source: str
    group: str = ""
    gate_class: str = ""
    prefix: str = ""


def listing(kind: str | None = None) -> list[Entry]:
    """Return all entries of one catalogue or of all. Raises InputError for an unknown kind."""
    if kind is not None and kind not in FOLDERS:
        raise InputError(
            f"unknown kind {kind!r}",
            where="list",
            expected=", ".join(FOLDERS),
            nearest=nearest_name(kind, FOLDERS),
        )
    rows = []
    for word, folder in FOLDERS.items():
        if kind in (None, word):
            for name in names(folder):
                data = read_head(folder / f"{name}.toml")
                keys = (*OF_ALL, *OF_POLICIES) if word == "policies" else OF_ALL
                rows.append(Entry(_singular(word), name, *(str(data.get(key, "")) for key in keys)))
    return sorted(rows, key=_place) if kind == "policies" else rows


OF_ALL = ("summary", "source")
OF_POLICIES = ("group", "gate_class", "prefix")
"""Keys that the listing tells, of every file and of a policy's."""

GROUPS = ("records", "comparators", "bounds", "zoo", "stages", "conserving", "own", "")
"""Groups of policies, in the order in which they are listed."""


def _place(row: Entry) -> int:
    return GROUPS.index(row.group) if row.group in GROUPS else len(GROUPS)


def shown(reference: str, *, resolved: bool) -> str:
    """Return a catalogue file as it stands, or resolved with its base and every default.

    A name that stands in two catalogues is that of the first. Raises InputError.
    """
    path, word = _found(reference)
    if not resolved:
        read_toml(path)
        lines = read_text(path, "a TOML file").splitlines()
        return "".join(
            "".join(c if c.isprintable() or c == "\t" else "?" for c in line) + "\n" for line in lines
        )
    return toml_text(_resolved(reference, word))


def toml_text(data: dict[str, object]) -> str:
    """Return data as the text of a TOML file."""
    return "\n".join(_toml_lines(data, "")) + "\n"


def _found(reference: str) -> tuple[Path, str]:
    for word, folder in FOLDERS.items():
        if reference in names(folder):
            return folder / f"{reference}.toml", word
    if reference.endswith(".toml") or "/" in reference:
        path = Path(reference)
        data = read_toml(path)
        for word, keys in TELLING.items():
            if data.keys() & keys or data.get("base") in names(FOLDERS[word]):
                return path, word
        return path, "policies"
    valid = [name for folder in FOLDERS.values() for name in names(folder)]
    raise InputError(
        f"unknown name {reference!r}",
        where="show",
        expected="a name of `rewritelab list` or the path of a TOML file",
        nearest=nearest_name(reference, valid),
    )


def _resolved(reference: str, word: str) -> dict[str, object]:
    resolve: dict[str, Callable[[str], dict[str, object]]] = {
        "scenarios": _scenario,
        "policies": _policy,
        "experiments": _experiment,
        "prices": _prices,
    }
    return resolve[word](reference)


def _scenario(reference: str) -> dict[str, object]:
    from scenarios import load_scenario

    scenario = load_scenario(reference)
    data = scenario.file.model_dump(mode="json", exclude_none=True)
    # a file of another name would be another world
    return {"draws": scenario.setting().draws, **data}


def _policy(reference: str) -> dict[str, object]:
    from policies.loader import resolved

    return resolved(reference)


def _experiment(reference: str) -> dict[str, object]:
    from experiments.experiment import load_experiment

    return load_experiment(reference).file.model_dump(mode="json", exclude_none=True)


def _prices(reference: str) -> dict[str, object]:
    from scenarios.prices import load_prices

    return load_prices(reference).model_dump(mode="json", exclude_none=True)


def _toml_lines(table: dict[str, object], prefix: str) -> Iterator[str]:
    """Yield a table as TOML: its values first, then its tables, rows of tables inline."""
    for key, value in table.items():
        if value is not None and not isinstance(value, dict):
            yield f"{_toml_key(key)} = {_toml_value(value)}"
    for key, value in table.items():
        if isinstance(value, dict):
            yield ""
            yield f"[{prefix}{_toml_key(key)}]"
            yield from _toml_lines(value, f"{prefix}{_toml_key(key)}.")


def _toml_key(key: str) -> str:
    """Return a key, in quotes where it holds more than a bare key may: a path with dots, for instance."""
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else printable_json(key)


def _toml_value(value: object) -> str:
    if isinstance(value, list):
        inner = [_toml_value(part) for part in value]
        one = f"[{', '.join(inner)}]"
        return one if len(one) < WIDE else "[\n" + "".join(f"  {part},\n" for part in inner) + "]"
    if isinstance(value, dict):
        pairs = ", ".join(
            f"{_toml_key(key)} = {_toml_value(part)}" for key, part in value.items() if part is not None
        )
        return f"{{ {pairs} }}"
    # JSON writes texts, numbers and truth values as TOML does
    return printable_json(value)


WIDE = 100
"""Characters of a list before it goes over several lines."""


def _singular(word: str) -> str:
    return {"policies": "policy", "prices": "price list"}.get(word, word.removesuffix("s"))
