"""Progress goes to stderr, sparingly, and to nobody when nobody looks."""

from __future__ import annotations

import io
import sys

import pytest

from experiments.progress import PlainLines, Tally, progress


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lines_of(clock: Clock, total: int, seconds_a_step: float, done: int = 0) -> list[str]:
    stream = io.StringIO()
    shown = PlainLines(Tally(total, "runs", done=done, clock=clock), stream)
    for _ in range(total - done):
        clock.now += seconds_a_step
        shown.advance()
    shown.close()
    return stream.getvalue().splitlines()


@pytest.mark.unit
def test_a_quick_job_says_every_five_per_cent(clock: Clock) -> None:
    lines = lines_of(clock, 1_000, 0.001)
    assert len(lines) == 20
    assert lines[0] == "runs: 50/1000 (5%), 1e+03/s, 0:00:01 left"
    assert lines[-1] == "runs: 1000/1000 (100%), 1e+03/s"


@pytest.mark.unit
def test_a_slow_job_says_every_ten_seconds(clock: Clock) -> None:
    lines = lines_of(clock, 1_000, 0.5)
    assert lines[0] == "runs: 20/1000 (2%), 2/s, 0:08:10 left"
    assert len(lines) == 50


@pytest.mark.unit
def test_time_left_counts_only_what_this_session_did(clock: Clock) -> None:
    assert lines_of(clock, 100, 1.0, done=90)[0] == "runs: 95/100 (95%), 1/s, 0:00:05 left"


@pytest.mark.unit
def test_failures_are_told(clock: Clock) -> None:
    tally = Tally(4, "runs", clock=clock)
    tally.count(2, 1)
    assert tally.line() == "runs: 2/4 (50%), 1 failed"


@pytest.mark.unit
def test_the_last_state_is_told_once_even_when_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), progress(1_000, "runs", "plain") as shown:
        shown.advance(3)
        raise KeyboardInterrupt
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("runs: 3/1000")
    assert err.count("\n") == 1


@pytest.mark.unit
@pytest.mark.parametrize("total", [0, 1])
@pytest.mark.parametrize("mode", ["auto", "bar", "plain", "none"])
def test_stdout_stays_clean(capsys: pytest.CaptureFixture[str], mode: str, total: int) -> None:
    with progress(total, "[red]runs[/]", mode) as shown:  # type: ignore[arg-type]
        print('{"a": 1}')
        shown.advance(total)
    out, err = capsys.readouterr()
    assert out == '{"a": 1}\n'
    assert ("[red]runs[/]" in err) == (mode in {"bar", "plain"}) or total == 0


@pytest.mark.unit
@pytest.mark.parametrize(
    ("variables", "terminal", "shown"),
    [
        ({}, True, "a bar"),
        ({"TERM": "dumb"}, True, "lines"),
        ({}, False, "nothing"),
        ({"CI": "true"}, True, "nothing"),
        ({"FORCE_COLOR": "1"}, False, "nothing"),
    ],
)
def test_a_terminal_gets_a_bar_and_a_log_nothing(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], terminal: bool, shown: str
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(2, "runs") as told:
        told.advance(2, failures=1)
    assert ("\x1b[" in stream.getvalue()) == (shown == "a bar")
    assert ("2/2 (100%)" in stream.getvalue()) == (shown != "nothing")
    assert ("1 failed" in stream.getvalue()) == (shown != "nothing")


@pytest.mark.unit
@pytest.mark.parametrize("mode", ["plain", "auto"])
def test_a_lost_stderr_does_not_stop_the_job(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(1, "runs", mode) as shown:  # type: ignore[arg-type]
        stream.close()
        shown.advance()
    monkeypatch.setattr(sys, "stderr", None)
    with progress(1, "runs", mode) as shown:  # type: ignore[arg-type]
        shown.advance()
