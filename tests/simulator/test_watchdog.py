"""A policy that does not answer and a run that does not end are given up, in any thread and nowhere else."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import TypeVar

import pytest

from simulator import watchdog
from simulator.contracts import Policy
from simulator.errors import RunFailed
from simulator.plan import Evict, RewritePlan
from simulator.setting import Setting
from simulator.simulation import simulate

Make = Callable[..., Policy]
Turns = Callable[..., tuple]
Result = TypeVar("Result")
Where = Callable[[Callable[[], object]], object]


def in_main(act: Callable[[], Result]) -> Result:
    return act()


def in_thread(act: Callable[[], Result]) -> Result:
    """Do something in a thread that is not the main one, as a worker of a cluster does."""
    ended: list[Result] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            ended.append(act())
        except BaseException as fault:
            raised.append(fault)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return ended[0]


EVERYWHERE = pytest.mark.parametrize("where", [in_main, in_thread])


@pytest.fixture
def setting(listed: type, constant: Turns) -> Setting:
    return Setting("watched", 10_000, listed(constant(4, 100)), head=50)


@pytest.fixture
def endless(listed: type, constant: Turns) -> Setting:
    return Setting("endless", 10**9, listed(constant(5_000, 1)), horizon=5_000)


@pytest.fixture(autouse=True)
def sharp_eyes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOOKS_EVERY", 0.01)
    monkeypatch.setattr(watchdog, "PATIENCE_SECONDS", 5)  # looks, at that


@pytest.fixture(autouse=True)
def alarm_of_the_host() -> Iterator[None]:
    """The alarm of this process, which pytest-timeout may be using, as it was before the test."""
    handler, timer = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)


@pytest.fixture
def often() -> Iterator[None]:
    """Threads take turns as often as they can, so that a look falls anywhere."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def watchdogs() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "watchdog"]


def wait_until(holds: Callable[[], bool], seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not holds():
        time.sleep(0.005)
    return holds()


# --------------------------------------------------------------------------- no answer


@pytest.mark.unit
@EVERYWHERE
@pytest.mark.parametrize("method", ["begin", "check", "admit", "propose", "judge", "learn"])
def test_a_policy_that_never_returns_is_given_up_with_the_same_words(
    scripted: Make, setting: Setting, where: Where, method: str
) -> None:
    def never(_question: object) -> object:
        for _ in count():
            pass

    policy = scripted(propose_by=lambda view: RewritePlan((Evict(view.items[1].id),)))
    setattr(policy, method if method == "begin" else f"{method}_by", never)
    with pytest.raises(RunFailed) as failure:
        where(lambda: simulate(setting, policy))
    assert str(failure.value) == (
        f"run failed at {method}: policy raised TimeoutError: no answer within 5 seconds"
    )


@pytest.mark.unit
@EVERYWHERE
def test_a_policy_that_swallows_the_first_word_gets_a_second(
    scripted: Make, setting: Setting, where: Where
) -> None:
    swallowed = []

    def deaf(_question: object) -> object:
        while not swallowed:
            try:
                for _ in count():
                    pass
            except BaseException as word:
                swallowed.append(type(word).__name__)
        for _ in count():
            pass

    with pytest.raises(RunFailed, match="no answer within 5 seconds"):
        where(lambda: simulate(setting, scripted(check_by=deaf)))
    assert swallowed == ["TimeoutError"]


@pytest.mark.unit
@EVERYWHERE
def test_patience_is_a_calls_and_not_a_runs(
    scripted: Make, endless: Setting, where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that take their time, longer together than the patience with one: five looks each, of twenty."""
    monkeypatch.setattr(watchdog, "PATIENCE_SECONDS", 20)
    slow = iter([0.05] * 6)

    def thinks(_gauge: object) -> bool:
        ends = time.monotonic() + next(slow, 0.0)
        while time.monotonic() < ends:
            pass
        return False

    run = where(lambda: simulate(endless, scripted(check_by=thinks)))
    assert run.outcome == "complete"  # type: ignore[attr-defined]


# --------------------------------------------------------------------------- no end


@pytest.mark.unit
@EVERYWHERE
def test_a_run_that_is_slow_though_every_call_answers_is_ended(
    scripted: Make, endless: Setting, where: Where
) -> None:
    def dawdles(_gauge: object) -> bool:
        time.sleep(0.001)
        return False

    began = time.monotonic()
    with pytest.raises(RunFailed) as failure:
        where(lambda: simulate(endless, scripted(check_by=dawdles), time_limit=0.1))
    assert str(failure.value) == "run failed at time limit: no end within 0.1 seconds"
    assert 0.1 <= time.monotonic() - began < 3  # of 5 seconds at least that the run would take


@pytest.mark.unit
@EVERYWHERE
def test_a_run_that_ends_in_time_is_what_it_would_have_been(
    scripted: Make, setting: Setting, where: Where
) -> None:
    def policy() -> Policy:
        return scripted(propose_by=lambda view: RewritePlan((Evict(view.items[1].id),)))

    free, watched = simulate(setting, policy()), where(lambda: simulate(setting, policy(), time_limit=60))
    assert watched.turn_rows == free.turn_rows  # type: ignore[attr-defined]
    assert watched.rewrite_rows == free.rewrite_rows  # type: ignore[attr-defined]


# --------------------------------------------------------------------------- and nothing after


class OneWord(watchdog._Look):
    said = False

    def __call__(self) -> type[BaseException] | None:
        fault = None if self.said else super().__call__()
        self.said = fault is not None or self.said
        return fault


@pytest.mark.unit
@EVERYWHERE
def test_nothing_is_raised_after_a_run_whatever_the_moment(
    scripted: Make, listed: type, constant: Turns, where: Where, monkeypatch: pytest.MonkeyPatch, often: None
) -> None:
    """Limits about as long as a run takes, and looks so close that some fall on its very end."""
    monkeypatch.setattr(watchdog, "LOOKS_EVERY", 1e-4)
    monkeypatch.setattr(watchdog, "_Look", OneWord)  # no second one before the first has been heard
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # it may fall into a finaliser, and is lost
    setting = Setting("short", 10_000, listed(constant(40, 100)))
    began = time.perf_counter()
    simulate(setting, scripted(check_by=False))
    usual = time.perf_counter() - began
    ended = {"in time": 0, "given up": 0}

    def many() -> int:
        strays = 0
        for place in range(400):
            try:
                try:
                    simulate(setting, scripted(check_by=False), time_limit=usual * (place % 20) / 10)
                    ended["in time"] += 1
                except RunFailed:
                    ended["given up"] += 1
                for _ in range(2_000):  # where a stray would strike
                    pass
            except BaseException:
                strays += 1
        return strays

    assert where(many) == 0
    assert sum(ended.values()) == 400
    assert min(ended.values()) > 20, ended
    assert wait_until(lambda: not watchdogs())
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.unit
def test_a_look_sees_that_the_run_has_been_left() -> None:
    """As where the word that ended a run came before the watch could be put away."""

    def host(_number: int, _frame: object) -> None: ...

    kept = []

    def left() -> None:
        context = watchdog.watched([], time_limit=0.0)
        kept.append(context)
        context.__enter__()

    def go_on() -> str:
        left()
        ends = time.monotonic() + 0.1
        while time.monotonic() < ends:
            pass
        return "undisturbed"

    signal.signal(signal.SIGALRM, host)
    signal.setitimer(signal.ITIMER_REAL, 1000, 77)
    assert go_on() == "undisturbed"
    assert wait_until(lambda: not watchdogs())
    assert signal.getsignal(signal.SIGALRM) is host
    timer, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    assert 900 < timer <= 1000
    assert interval == 77
    kept.clear()  # puts the watch away a second time, which does nothing
    assert signal.getsignal(signal.SIGALRM) is host
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
