"""The launcher refuses a shadowed package in one line, and runs nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

import rewritelab

PACKAGES = ["simulator", "policies", "scenarios", "experiments"]
CONSOLE_SCRIPT = str(Path(sysconfig.get_path("scripts"), "rewritelab"))
DOORS = {"script": [CONSOLE_SCRIPT], "module": [sys.executable, "-m", "rewritelab"]}


def start(door: list[str], *, path: Path | None, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    return subprocess.run(
        [*door, "--help"],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def lay_shadow(folder: Path, package: str, *, as_file: bool = False) -> Path:
    """Lay a package that leaves a witness and raises if anything of it is executed."""
    file = folder / f"{package}.py" if as_file else folder / package / "__init__.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    witness = folder / "witness"
    file.write_text(f"open({str(witness)!r}, 'w').close()\nraise RuntimeError('shadow executed')\n")
    return witness


@pytest.mark.cli
@pytest.mark.parametrize("as_file", [False, True], ids=["folder", "file"])
@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_a_shadowed_package_is_named_in_one_line_and_not_executed(
    door: list[str], package: str, as_file: bool, tmp_path: Path
) -> None:
    shadows, elsewhere = tmp_path / "shadows", tmp_path / "elsewhere"
    elsewhere.mkdir()
    witness = lay_shadow(shadows, package, as_file=as_file)

    done = start(door, path=shadows, folder=elsewhere)

    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert repr(package) in done.stderr
    assert str(shadows / package) in done.stderr
    assert "PYTHONPATH" in done.stderr
    assert not witness.exists()


@pytest.mark.cli
def test_the_module_door_refuses_a_package_in_the_folder_it_is_started_in(tmp_path: Path) -> None:
    witness = lay_shadow(tmp_path, "experiments")

    done = start(DOORS["module"], path=None, folder=tmp_path)

    assert done.returncode == 2
    assert not witness.exists()


@pytest.mark.cli
def test_a_line_break_in_a_path_does_not_break_the_line(tmp_path: Path) -> None:
    lay_shadow(tmp_path / "two\nlines", "experiments")

    done = start(DOORS["module"], path=tmp_path / "two\nlines", folder=tmp_path)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.cli
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_a_folder_of_results_that_is_no_package_does_no_harm(door: list[str], tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()

    done = start(door, path=tmp_path, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


@pytest.mark.unit
def test_the_command_line_is_called_when_all_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    command_line = ModuleType("experiments.cli")
    command_line.main = lambda: 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "experiments.cli", command_line)

    assert rewritelab.main() == 7


@pytest.mark.unit
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewritelab, "PACKAGES", ("no_such_package",))

    assert "'no_such_package' is missing" in rewritelab.find_complaint("anywhere")


@pytest.mark.unit
def test_a_link_to_the_installation_is_no_shadow(tmp_path: Path) -> None:
    link = tmp_path / "linked"
    link.symlink_to(Path(rewritelab.__file__).parent, target_is_directory=True)

    assert rewritelab.find_complaint(str(link)) == ""


@pytest.mark.cli
def test_importing_the_launcher_imports_none_of_the_four() -> None:
    code = f"import rewritelab, sys; print(sorted(set(sys.modules) & set({PACKAGES!r})))"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)

    assert printed.strip() == "[]"


@pytest.mark.unit
def test_a_ctrl_c_while_all_is_loaded_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(rewritelab, "find_complaint", interrupted)
    assert rewritelab.main() == 130
    assert capsys.readouterr() == ("", "interrupted\n")
