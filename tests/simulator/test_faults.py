"""A policy that raises, answers nonsense or never answers fails the run, and the stage is named."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator
from itertools import count

import pytest
import simpy

from simulator.contracts import Brief, Policy, Prices, Terms, Verdict
from simulator.errors import InputError, RunFailed
from simulator.plan import Evict, RewritePlan
from simulator.prices import PRICED_TOKENS
from simulator.setting import Setting
from simulator.simulation import simulate

Make = Callable[..., Policy]
METHODS = ("begin", "check", "admit", "propose", "judge", "learn")


@pytest.fixture
def setting(listed: type, constant: Callable[..., tuple]) -> Setting:
    return Setting("faults", 10_000, listed(constant(4, 100)), head=50)


def faulty(scripted: Make, method: str, act: object) -> Policy:
    """Return a policy that evicts one span at every turn, but for one method."""
    policy = scripted(propose_by=lambda view: RewritePlan((Evict(view.items[1].id),)))
    if method == "begin":
        policy.begin = act  # type: ignore[method-assign]
    else:
        setattr(policy, f"{method}_by", act)
    return policy


def raises(question: object) -> object:
    raise ZeroDivisionError("by my own fault\nin two lines")


@pytest.mark.unit
def test_without_its_fault_the_policy_runs(scripted: Make, setting: Setting) -> None:
    run = simulate(setting, faulty(scripted, "check", True))
    assert [entry.outcome for entry in run.rewrite_rows] == ["committed"] * 4


@pytest.mark.unit
@pytest.mark.parametrize("method", METHODS)
def test_what_a_policy_raises_names_the_stage(scripted: Make, setting: Setting, method: str) -> None:
    with pytest.raises(RunFailed, match="ZeroDivisionError: by my own fault in two lines") as failure:
        simulate(setting, faulty(scripted, method, raises))
    assert failure.value.stage == method
    assert "\n" not in str(failure.value)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


@pytest.mark.unit
@pytest.mark.parametrize("method", METHODS)
def test_a_policy_that_stops_iterating_is_a_policy_that_raises(
    scripted: Make, setting: Setting, method: str
) -> None:
    def stops(question: object) -> object:
        return next(iter(()))

    with pytest.raises(RunFailed) as failure:
        simulate(setting, faulty(scripted, method, stops))
    assert failure.value.stage == method


class Unprintable(Exception):
    def __str__(self) -> str:
        raise TypeError("no words")


@pytest.mark.unit
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        (SystemExit(3), "policy raised SystemExit: 3"),
        (GeneratorExit("early"), "policy raised GeneratorExit: early"),
        (Unprintable(), "policy raised Unprintable, which cannot be printed"),
    ],
)
def test_what_is_more_than_an_exception_ends_the_run_and_not_the_process(
    scripted: Make, setting: Setting, method: str, fault: BaseException, shown: str
) -> None:
    def act(question: object) -> object:
        raise fault

    with pytest.raises(RunFailed, match=shown) as failure:
        simulate(setting, faulty(scripted, method, act))
    assert failure.value.stage == method
    assert failure.value.__cause__ is fault


@pytest.mark.unit
@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_of_the_user_passes_through(scripted: Make, setting: Setting, method: str) -> None:
    def interrupted(question: object) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(setting, faulty(scripted, method, interrupted))


@pytest.mark.unit
@pytest.mark.parametrize("method", METHODS)
def test_a_failure_of_a_policys_own_names_the_stage_that_was_asked(
    scripted: Make, setting: Setting, method: str
) -> None:
    def act(question: object) -> object:
        raise RunFailed("elsewhere", "as I please")

    with pytest.raises(RunFailed, match=r"policy raised RunFailed: .*as I please") as failure:
        simulate(setting, faulty(scripted, method, act))
    assert failure.value.stage == method


@pytest.mark.unit
@pytest.mark.parametrize("method", METHODS)
def test_a_run_whose_time_is_up_within_a_call_says_so(scripted: Make, setting: Setting, method: str) -> None:
    def never(question: object) -> object:
        for _ in count():
            pass

    with pytest.raises(RunFailed, match=r"no end within 0\.5 seconds") as failure:
        simulate(setting, faulty(scripted, method, never), time_limit=0.5)
    assert failure.value.stage == "time limit"


@pytest.mark.unit
@pytest.mark.parametrize("answer", [None, "yes", 1, 0.5, [], object()])
@pytest.mark.parametrize("method", METHODS[1:])
def test_nonsense_names_the_stage(scripted: Make, setting: Setting, method: str, answer: object) -> None:
    with pytest.raises(RunFailed, match=f"returned {type(answer).__name__}, expected") as failure:
        simulate(setting, faulty(scripted, method, answer))
    assert failure.value.stage == method


@pytest.mark.unit
@pytest.mark.parametrize("method", ["admit", "judge"])
def test_a_truth_value_is_no_verdict(scripted: Make, setting: Setting, method: str) -> None:
    with pytest.raises(RunFailed, match="expected a Verdict"):
        simulate(setting, faulty(scripted, method, True))


@pytest.mark.unit
@pytest.mark.parametrize("method", METHODS)
def test_a_policy_that_never_returns_is_given_up(
    scripted: Make, setting: Setting, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(question: object) -> object:
        for _ in count():
            pass

    monkeypatch.setattr("simulator.watchdog.PATIENCE_SECONDS", 1)
    with pytest.raises(RunFailed, match="no answer within 1 second") as failure:
        simulate(setting, faulty(scripted, method, never))
    assert failure.value.stage == method


@pytest.fixture
def restored() -> Iterator[None]:
    """The alarm of this process, which pytest-timeout may be using, as it was before the test."""
    handler, timer = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)


@pytest.mark.unit
@pytest.mark.parametrize("fails", [False, True])
def test_the_alarm_of_the_host_is_given_back(
    scripted: Make, setting: Setting, restored: None, fails: bool
) -> None:
    def handler(number: int, frame: object) -> None: ...

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1000, 77)
    policy = faulty(scripted, "check", raises if fails else False)
    if fails:
        with pytest.raises(RunFailed):
            simulate(setting, policy)
    else:
        simulate(setting, policy)
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert signal.getsignal(signal.SIGALRM) is handler
    assert 900 < left <= 1000
    assert interval == 77


@pytest.mark.unit
def test_without_an_alarm_of_the_host_none_is_left(scripted: Make, setting: Setting, restored: None) -> None:
    simulate(setting, faulty(scripted, "check", False))
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.unit
def test_a_failure_crosses_a_process_boundary() -> None:
    failure = pickle.loads(pickle.dumps(RunFailed("judge", "two\nlines")))
    assert (failure.stage, failure.reason) == ("judge", "two lines")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "wrong"), [("window", 0), ("horizon", 0), ("output_reserve", -1), ("head", -1)]
)
def test_a_setting_says_what_is_wrong_with_it(listed: type, name: str, wrong: int) -> None:
    values = {"window": 10, "workload": listed(), name: wrong}
    with pytest.raises(
        InputError, match=rf"odd: {name} is {wrong}; expected {0 if wrong < 0 else 1} or more"
    ):
        Setting("odd", **values)


@pytest.mark.unit
def test_the_brief_holds_what_is_documented_and_nothing_else(scripted: Make, setting: Setting) -> None:
    policy = scripted(terms=Terms(), admit_by=Verdict(False, "no"))
    simulate(setting, policy)
    spec = setting.provider
    kinds = ("input", "cache_read", "cache_write", "output")
    listed = [getattr(spec, f"{kind}_usd") / PRICED_TOKENS for kind in kinds]
    prices = Prices(*listed, cache_seconds=spec.cache_seconds)
    assert policy.brief == Brief(window=10_000, prices=prices, horizon=setting.horizon)


@pytest.mark.unit
@pytest.mark.parametrize("method", ["begin", "check", "admit", "propose", "judge", "learn"])
@pytest.mark.parametrize(
    "fault", [simpy.core.StopSimulation("x"), simpy.core.EmptySchedule(), BaseException("b")]
)
def test_what_simpy_would_take_for_its_own_is_the_policys_fault(
    scripted: Make, setting: Setting, method: str, fault: BaseException
) -> None:
    def raises(_question: object) -> object:
        raise fault

    with pytest.raises(RunFailed) as failure:
        simulate(setting, faulty(scripted, method, raises))
    assert failure.value.stage == method
    assert type(fault).__name__ in failure.value.reason
