"""The texts that a user's policy is made of: the modules of its classes, and what those import.

In come names of loaded modules; out come names and texts, sorted. What is installed, but of the packages that
they belong to, is left out, as is the standard library: versions speak for those.
"""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.util import resolve_name
from pathlib import Path

OURS = frozenset({"simulator", "policies", "scenarios", "experiments"}) | sys.stdlib_module_names
"""Packages whose texts follow from the versions."""

INSTALLED = tuple(Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib"))
"""Where packages are installed."""


def sources_of(modules: Iterable[str]) -> list[tuple[str, str]]:
    """Return name and text of modules and of all that they import, but of ours and of what is installed."""
    begun = {name for name in modules if _package(name) not in OURS}
    packages = {_package(name) for name in begun}
    found: dict[str, str] = {}
    waiting = sorted(begun)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = text_of(name)
        waiting += [
            other
            for other in _imports(name, found[name])
            if other in sys.modules and (_package(other) in packages or _is_beside(other))
        ]
    return sorted(found.items())


def text_of(module: str) -> str:
    """Return the text of a module, or nothing where there is none."""
    try:
        return inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return ""


def _imports(module: str, text: str) -> Iterator[str]:
    """Yield the names that a module's text imports; what is imported from one may be a module too."""
    package = getattr(sys.modules.get(module), "__package__", None) or ""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            origin = resolve_name(relative, package) if node.level else relative
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _is_beside(module: str) -> bool:
    """Return whether a module is neither ours, nor installed, nor of the standard library."""
    file = getattr(sys.modules[module], "__file__", None)
    if file is None or _package(module) in OURS:
        return False
    return not any(Path(file).is_relative_to(folder) for folder in INSTALLED)


def _package(module: str) -> str:
    return module.partition(".")[0]
