"""What all tests share: the field data, and examples that are the same in every run."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent

# No deadline: a time limit on a shared machine says more about the machine.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("fresh", deadline=None)
# A shell that starts the tests in the background has Ctrl-C ignored, and what the tests start would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of the field data: REWRITELAB_SHARED, else `shared` beside the repository."""
    named = os.environ.get("REWRITELAB_SHARED")
    if named and not Path(named).is_dir():
        pytest.fail(f"REWRITELAB_SHARED names no folder: {named}")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no field data: set REWRITELAB_SHARED, or lay them at {folder}")
    return folder
