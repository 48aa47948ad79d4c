"""The name of a sweep: it follows what the rows follow from and nothing else, and says where two differ."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from experiments.experiment import Experiment, load_experiment
from experiments.identity import (
    POINTS_TRIED,
    differences_between,
    digest_of,
    identity_of,
    plain_form,
    points_to_try,
)
from experiments.reading import read_runs
from experiments.sweeping import sweep
from policies.loader import CATALOGUE as POLICIES
from scenarios.scenario import CATALOGUE as SCENARIOS
from simulator import InputError

Edit = Callable[[str, str], Path]


def digest(path: Path) -> str:
    return digest_of(identity_of(load_experiment(str(path))))


@pytest.fixture
def own(small_experiment: Path, tmp_path: Path) -> Path:
    """The small experiment over copies of its scenario and policy, and a script in a CSV beside."""
    scenario = (SCENARIOS / "constant-arrivals.toml").read_text()
    start, end = scenario.index("[workload]"), scenario.index("[laws.rationale]")
    scripted = '[workload]\nkind = "scripted"\ncsv = "script.csv"\n\n'
    (tmp_path / "world.toml").write_text(scenario[:start] + scripted + scenario[end:])
    (tmp_path / "script.csv").write_text("at,kind,tokens,until\n1,tool_result,175,1000\n")
    (tmp_path / "mine.toml").write_text((POLICIES / "naive-never-summarised.toml").read_text())
    (tmp_path / "naive.toml").write_text((POLICIES / "naive.toml").read_text())
    text = small_experiment.read_text()
    text = text.replace('"constant-arrivals"', f'"{tmp_path / "world.toml"}"')
    small_experiment.write_text(text.replace('"naive-never-summarised"', f'"{tmp_path / "mine.toml"}"'))
    return small_experiment


@pytest.mark.unit
@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("two-by-two.toml", "replications = 15", "replications = 16"),
        ("two-by-two.toml", "[100, 600]", "[100, 601]"),
        ("two-by-two.toml", ', "overflowed"', ""),
        ("two-by-two.toml", "replications = 15", "replications = 15\nseed = 1"),
        ("two-by-two.toml", 'name = "rationale"', 'name = "planner"'),
        ("two-by-two.toml", "responses =", 'keep = ["turns"]\nresponses ='),
        ("two-by-two.toml", "responses =", 'set = { "laws.summary.ratio" = 0.4 }\nresponses ='),
        ("two-by-two.toml", "[plot]", '[design]\nkind = "two-level"\n\n[plot]'),
        ("world.toml", "tokens = 24_000", "tokens = 24_001"),
        ("world.toml", "ratio = 0.30", "ratio = 0.31"),
        ("script.csv", "175", "176"),
        ("naive.toml", "0.905", "0.904"),
        ("naive.toml", "limit = 6", "limit = 7"),
    ],
)
def test_the_digest_follows_what_the_rows_follow_from(own: Path, file: str, before: str, after: str) -> None:
    first = digest(own)
    edited_file = own.parent / file
    text = edited_file.read_text()
    assert before in text
    edited_file.write_text(text.replace(before, after))
    assert digest(own) != first


@pytest.mark.unit
def test_the_digest_follows_nothing_else(own: Path) -> None:
    first = digest(own)
    for path in own.parent.glob("*.toml"):
        text = path.read_text()
        path.write_text(f"# a remark\n{text}".replace('summary = "', 'summary = "really, '))
    text = own.read_text().replace('kind = "phase"', 'kind = "table"')
    text = text.replace("replications = 15", 'replications = 15\ntime_limit_seconds = 9\nquestion = "why?"')
    own.write_text(f'{text}\n[[plots]]\nkind = "heat"\nresponse = "overflowed"\n')
    assert digest(own) == first


MINE = """
import dataclasses
import numpy
from gates import Gated
from policies import ComposedPolicy, load_policy
from simulator.contracts import Policy

class Composed(ComposedPolicy):
    def __init__(self):
        guarded = load_policy("guarded")
        super().__init__("mine", guarded.terms, dataclasses.replace(guarded.parts, gates=(Gated(),)))

class Mine(Policy):
    name = "mine"
"""
"""The policies; the class of a gate in their parts and its family stand in modules of their own."""

GATES = """
from family import Above

class Gated(Above):
    kind = "gated"
"""

FAMILY = """
import helpers.figures as figures
from simulator.contracts import Gate

class Above(Gate):
    name = figures.name()
"""

HELPERS = {
    "helpers/__init__.py": "",
    "helpers/figures.py": "from . import words\ndef name():\n    return words.NAME\n",
    "helpers/words.py": "NAME = 'above'\ndef unused():\n    return 1\n",
    "bystander.py": "NAME = 'of nobody'\n",
}
"""What the family imports, and a module that nobody does."""


@pytest.mark.unit
def test_the_digest_follows_the_text_of_a_class_and_of_what_it_imports(
    small_experiment: Path, tmp_path: Path
) -> None:
    """Asked in processes of their own: there a set has another order, and a module another text."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "gates.py").write_text(GATES)
    (tmp_path / "family.py").write_text(FAMILY)
    (tmp_path / "helpers").mkdir()
    for name, written in HELPERS.items():
        (tmp_path / name).write_text(written)
    text = small_experiment.read_text().replace('kind = "phase"', 'kind = "table"')
    small_experiment.write_text(
        text.replace('["naive-never-summarised"]', '["mine:Mine", "mine:Composed", "guarded"]')
    )
    script = (
        "import sys\nfrom experiments.experiment import load_experiment\n"
        "from experiments.identity import digest_of, identity_of\n"
        "print(digest_of(identity_of(load_experiment(sys.argv[1]))))\n"
    )

    def asked(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-B", "-c", script, str(small_experiment)],
            env={"PYTHONPATH": str(tmp_path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    first = asked("1")
    assert asked("2") == first
    for name in ("mine.py", "gates.py", "family.py", *HELPERS):
        module = tmp_path / name
        text = module.read_text()
        module.write_text(f"{text}# edited\n")
        assert (asked("1") == first) == (name == "bystander.py"), module
        module.write_text(text)
    assert asked("1") == first


@pytest.mark.unit
@pytest.mark.parametrize(
    "odd",
    [
        "parts = endless",
        "parts = b'bytes'",
        "parts = property(lambda _: 1 / 0)",
        "terms = property(lambda _: 1 / 0)",
    ],
)
def test_parts_that_cannot_be_told_are_one_line(
    small_experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    own = "from simulator.contracts import Policy\nendless = []\nendless.append(endless)\n"
    (tmp_path / "odd_parts.py").write_text(f"{own}class Odd(Policy):\n    {odd}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "odd_parts", raising=False)
    text = small_experiment.read_text().replace('kind = "phase"', 'kind = "table"')
    small_experiment.write_text(text.replace('["naive-never-summarised"]', '["odd_parts:Odd", "guarded"]'))
    with pytest.raises(InputError, match=r"odd_parts:Odd: its terms and parts cannot be told: "):
        identity_of(load_experiment(str(small_experiment)))


@pytest.mark.unit
def test_plain_form_tells_no_address() -> None:
    class Thing:
        def __init__(self, size: int) -> None:
            self.size = size

    assert plain_form(Thing(1)) == plain_form(Thing(1)) != plain_form(Thing(2))
    assert plain_form({"b", "a", "c"}) == ["a", "b", "c"]
    assert plain_form([len, Thing]) == ["builtins.len", f"{__name__}.{Thing.__qualname__}"]


@dataclass(frozen=True)
class Gain:
    by: float

    def __call__(self, tokens: float) -> float:
        return self.by * tokens


class Slotted:
    __slots__ = ("__hidden", "size")

    def __init__(self, size: int, hidden: int = 0) -> None:
        self.size, self.__hidden = size, hidden


class Grown(Slotted):
    """Slots of a parent, and a `__dict__` beside them."""

    def __init__(self, size: int, colour: str = "red") -> None:
        super().__init__(size)
        self.colour = colour


class Called:
    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self) -> float:
        return self.by


class Constant(NamedTuple):
    tokens: int


class Mean(NamedTuple):
    tokens: int


@pytest.mark.unit
@pytest.mark.parametrize(
    "different",
    [
        (lambda: Path("a"), lambda: Path("b")),
        (lambda: np.array([1, 2]), lambda: np.array([1, 3])),
        (lambda: np.array([[1], [2]]), lambda: np.array([[1, 2]])),
        (lambda: np.int64(1), lambda: np.int64(2)),
        (lambda: partial(max, 1), lambda: partial(max, 2)),
        (lambda: partial(max, 1), lambda: partial(min, 1)),
        (lambda: partial(sorted, reverse=True), lambda: partial(sorted, reverse=False)),
        (lambda: Slotted(1), lambda: Slotted(2)),
        (lambda: Slotted(1, 1), lambda: Slotted(1, 2)),
        (lambda: Grown(1), lambda: Grown(2)),
        (lambda: Grown(1), lambda: Grown(1, "blue")),
        (lambda: Gain(1.0), lambda: Gain(2.0)),
        (lambda: Gain(1.0), lambda: Gain),
        (lambda: Called(1.0), lambda: Called(2.0)),
        (lambda: Constant(1), lambda: Mean(1)),
        (lambda: len, lambda: max),
        (lambda: str.upper, lambda: str.lower),
        (lambda: np.exp, lambda: np.log),
    ],
)
def test_plain_form_tells_different_things_apart(different: tuple[Callable[[], object], ...]) -> None:
    """Each is made twice: what is alike has one form, and JSON can hold it."""
    (one, again), (other, _) = ([json.dumps(plain_form([make()])) for _ in range(2)] for make in different)
    assert one == again
    assert one != other


@pytest.mark.unit
@pytest.mark.parametrize("value", [object(), b"bytes", {"inside": [iter("ab")]}])
def test_plain_form_refuses_what_it_cannot_tell(value: object) -> None:
    with pytest.raises(TypeError, match="no attributes to tell it by"):
        plain_form(value)


# ------------------------------------------------------------------------------------ differences in words


@pytest.mark.unit
def test_differences_are_told_by_their_place() -> None:
    there = {"version": "1", "file": {"seed": 1, "factor": [{"name": "x", "values": [1, 2]}], "keep": []}}
    here = {"version": "1", "file": {"seed": 2, "factor": [{"name": "x", "values": [1, 3]}]}}
    assert differences_between(there, here) == (
        "file.seed is 1 there and 2 here, file.factor.0.values is [1, 2] there and [1, 3] here, "
        "file.keep is [] there and nothing here"
    )
    assert differences_between(there, there) == ""
    many = {"file": {f"key{number}": number for number in range(9)}}
    assert differences_between(many, {"file": {}}).endswith("key2 is 2 there and nothing here, and 6 more")


@pytest.mark.unit
def test_a_long_value_is_cut() -> None:
    said = differences_between({"a": "x" * 500}, {"a": "y"})
    assert len(said) < 120


@pytest.mark.unit
def test_another_sweep_is_refused_with_the_difference(small_experiment: Path, tmp_path: Path) -> None:
    small_experiment.write_text(small_experiment.read_text().replace("= 15", "= 1"))
    sweep(load_experiment(str(small_experiment)), tmp_path / "out", workers=0, show="none")
    small_experiment.write_text(small_experiment.read_text().replace("[100, 600]", "[100, 700]"))
    with pytest.raises(InputError, match=r"another sweep: file.factor.0.values is \[100, 600\] there and"):
        sweep(load_experiment(str(small_experiment)), tmp_path / "out", workers=0, show="none")


# ------------------------------------------------------------------------------------ what is built before


@pytest.mark.unit
def test_a_large_design_tries_each_level_and_not_each_point(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    head = 'scenario = "constant-arrivals"\npolicies = ["naive"]\nreplications = 1\nresponses = ["turns"]\n'
    factors = "".join(
        f'[[factor]]\nname = "{name}"\npath = "{name}"\nvalues = {list(range(10, 30))}\n'
        for name in ("run.horizon", "laws.rationale.base", "workload.result_mean")
    )
    path.write_text(head + factors)
    experiment = load_experiment(str(path))
    assert experiment.size == 20**3 > POINTS_TRIED
    tried = [point.labels for point in points_to_try(experiment)]
    assert len(tried) == 2 * 3 * 20
    for name in experiment.factors:
        assert {labels[name] for labels in tried} == set(range(10, 30))
    identity_of(experiment)
    path.write_text((head + factors).replace("29]", "0]", 1))
    with pytest.raises(InputError, match=r"run\.horizon"):
        identity_of(load_experiment(str(path)))


TOGETHER = """
scenario = "constant-arrivals"
policies = ["naive"]
replications = 2
responses = ["turns"]
[[factor]]
name = "least"
path = "workload.reply_low"
values = [60, 10]
[[factor]]
name = "most"
path = "workload.reply_high"
values = [40, 90]
"""


@pytest.fixture
def together(tmp_path: Path) -> Path:
    """Replies from 60 to 40 tokens are none; each level goes beside another."""
    path = tmp_path / "together.toml"
    path.write_text(TOGETHER)
    return path


def failed_points(experiment: Experiment, folder: Path) -> set[int]:
    """Sweep, and return the points whose runs failed: they all did, at stage `point`."""
    failures = sweep(experiment, folder, workers=0, show="none")
    runs = read_runs(folder)
    failed = runs[runs["failure"].notna()]
    assert failures == len(failed)
    assert len(runs) == 2 * experiment.size
    assert set(failed["failed_stage"]) <= {"point"}
    assert failed["failure"].str.contains("is above high").all()
    return set(failed["point"])


@pytest.mark.unit
def test_levels_that_go_alone_and_not_together_are_failed_runs(together: Path, tmp_path: Path) -> None:
    experiment = load_experiment(str(together))
    assert failed_points(experiment, tmp_path / "out") == {0}
    assert experiment.labels(0) == {"least": 60, "most": 40}


@pytest.mark.unit
def test_a_level_of_a_large_design_may_need_the_last_of_another(together: Path) -> None:
    """The first levels do not go together: each is tried beside the last of the others too."""
    sizes = f'[[factor]]\nname = "size"\npath = "workload.result_mean"\nvalues = {list(range(100, 200))}\n'
    together.write_text(TOGETHER + sizes)
    experiment = load_experiment(str(together))
    assert experiment.size == 400 > POINTS_TRIED
    assert identity_of(experiment)


@pytest.mark.unit
def test_a_space_has_corners_where_nothing_can_be(together: Path, tmp_path: Path) -> None:
    text = TOGETHER.replace("values = [60, 10]", "low = 10\nhigh = 60\nwhole = true")
    text = text.replace("values = [40, 90]", "low = 40\nhigh = 90\nwhole = true")
    together.write_text(f'{text}\n[design]\nkind = "sobol"\npoints = 16\n')
    experiment = load_experiment(str(together))
    failed = failed_points(experiment, tmp_path / "out")
    assert 0 < len(failed) < 16
    levels = [experiment.labels(point) for point in range(16)]
    assert failed == {point for point, at in enumerate(levels) if at["least"] > at["most"]}


@pytest.mark.unit
@pytest.mark.parametrize(("before", "after"), [("[60, 10]", "[60, -1]"), ("[40, 90]", "[40, 8]")])
def test_a_level_that_goes_nowhere_ends_it_before_the_first_run(
    together: Path, tmp_path: Path, before: str, after: str
) -> None:
    together.write_text(TOGETHER.replace(before, after))
    with pytest.raises(InputError, match=r"reply_low|above high") as caught:
        sweep(load_experiment(str(together)), tmp_path / "out", workers=0, show="none")
    assert str(together) in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.unit
def test_a_misspelt_path_is_no_point_that_cannot_be(together: Path) -> None:
    together.write_text(TOGETHER.replace("workload.reply_high", "workload.reply_hig"))
    with pytest.raises(InputError, match=r"workload.reply_hig: unknown key.* did you mean 'repl"):
        identity_of(load_experiment(str(together)))
