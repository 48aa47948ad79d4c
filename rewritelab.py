"""The launcher: see that the four packages are ours, then hand over to the command line.

The import packages have generic names, so a folder of the user's own (`experiments/` on PYTHONPATH,
for instance) may be found in place of ours. This module looks before anything of the four is
imported, and runs nothing of what it finds. Standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import sys

PACKAGES = ("simulator", "policies", "scenarios", "experiments")
BAD_USAGE = 2
INTERRUPTED = 130


def main() -> int:
    """Run the command line, unless one of the four packages is not ours.

    Returns
    -------
    int
        The exit code: 2 if a package is missing or shadowed, 130 after a Ctrl-C in the midst of loading, else
        what the command line says.
    """
    try:
        complaint = find_complaint(os.path.dirname(os.path.abspath(__file__)))
        if complaint:
            print(f"rewritelab: {complaint}", file=sys.stderr)
            return BAD_USAGE
        from experiments.cli import main as run_command_line
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return run_command_line()


def find_complaint(home: str) -> str:
    """Say in one line which package does not lie in the folder `home`, or return an empty string.

    Parameters
    ----------
    home : str
        The folder that holds this module, where the four packages must lie as well.
    """
    for name in PACKAGES:
        found = locate(name)
        if not found:
            return f"the package {name!r} is missing from {home!r}; install rewritelab again"
        if not is_same_place(found, os.path.join(home, name)):
            return (
                f"the package {name!r} is shadowed by {found!r}, ours is in {home!r}; "
                "use an environment of its own for rewritelab, unset PYTHONPATH, or start from another folder"
            )
    return ""


def locate(name: str) -> str:
    """Return the folder or file that `import name` would load, without loading it, or an empty string."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return ""
    if spec.submodule_search_locations:
        return str(next(iter(spec.submodule_search_locations)))
    return spec.origin or ""


def is_same_place(found: str, expected: str) -> bool:
    """Compare two paths as the file system would: links followed, case folded where it is folded."""
    return os.path.normcase(os.path.realpath(found)) == os.path.normcase(os.path.realpath(expected))


if __name__ == "__main__":
    sys.exit(main())
