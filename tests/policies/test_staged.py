"""Policies in stages: who acts after a failure and at an overflow, and one plan of several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policies.loader import load_policy
from policies.staged import Escalating, Layered
from simulator.contracts import Brief, CheckPoint, Lesson, Policy, Proposal
from simulator.errors import InputError
from simulator.plan import Evict, Fold, Mask, Summarise
from simulator.spans import Kind
from simulator.view import Gauge, Item, View

pytestmark = pytest.mark.unit

TABLES = """
[trigger]
{trigger}
[deliberation]
enabled = false
[measurement]
plan = "none"
[selector]
order = "oldest"
{selector}
[replacement]
group = "item"
{replacement}
"""


@pytest.fixture
def stage(tmp_path: Path) -> Callable[..., str]:
    """Write a policy in tables, and return its path."""

    def write(
        name: str, replacement: str, selector: str = "", trigger: str = "tokens = 500", gates: str = ""
    ) -> str:
        path = tmp_path / f"{name}.toml"
        tables = TABLES.format(trigger=trigger, selector=selector, replacement=replacement)
        path.write_text(f"{tables}\n{gates}")
        return str(path)

    return write


def lesson(outcome: str, tokens: int = 600) -> Lesson:
    return Lesson(outcome, "settle", 0, 0, 0, tokens, 100, 100, 700)


def begun(policy: Policy, window: int = 1_000) -> Policy:
    policy.begin(Brief(window))
    return policy


# --------------------------------------------------------------------------- one after another


@pytest.fixture
def escalating(stage: Callable[..., str]) -> Escalating:
    """Summaries first, then masks, then evictions; at an overflow it begins with masks."""
    policy = Escalating(
        [
            stage("summary", 'kind = "summary"'),
            stage("mask", 'kind = "mask"'),
            stage("evict", 'kind = "evict"'),
        ],
        at_overflow=1,
    )
    begun(policy)
    return policy


def acts(policy: Escalating, view: View, gauge: Gauge | None = None) -> type:
    """Return the kind of operation that the policy comes up with at this gauge."""
    assert policy.check(view.gauge if gauge is None else gauge)
    return type(policy.propose(view).operations[0])


def test_a_failure_leads_on_to_the_next_stage_and_a_commit_back(
    escalating: Escalating, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, 600)])
    story = []
    for outcome in ("failed", "refused", "infeasible", "committed", "committed"):
        story.append(acts(escalating, shown))
        escalating.learn(lesson(outcome))
    assert story == [Summarise, Mask, Evict, Evict, Summarise]


def test_where_the_next_request_would_not_fit_it_begins_further_on(
    escalating: Escalating, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, 600)])
    assert acts(escalating, shown, shown.gauge._replace(tokens=1_001)) is Mask
    assert acts(escalating, shown, shown.gauge._replace(tokens=950, output_reserve=51)) is Mask
    assert acts(escalating, shown, shown.gauge._replace(point=CheckPoint.OVERFLOW)) is Mask
    assert acts(escalating, shown) is Summarise


def test_a_new_run_begins_with_the_first_stage(
    escalating: Escalating, item: Callable[..., Item], view: Callable[..., View]
) -> None:
    shown = view([item(1, 600)])
    acts(escalating, shown)
    escalating.learn(lesson("failed"))
    begun(escalating)
    assert acts(escalating, shown) is Summarise


def test_it_looks_wherever_one_of_its_stages_looks(stage: Callable[..., str]) -> None:
    late = stage("late", 'kind = "evict"', trigger='tokens = 1\ncheck_points = ["turn_end"]')
    policy = Escalating([stage("early", 'kind = "mask"'), late])
    assert policy.terms.check_points == {CheckPoint.BEFORE_REQUEST, CheckPoint.TURN_END}


# --------------------------------------------------------------------------- several in one plan


def test_the_last_stage_chooses_first_and_the_others_what_it_has_left(
    stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    masks = stage("masks", 'kind = "mask"\nplaceholder = 10', 'kinds = ["tool_result"]')
    folds = stage("folds", 'kind = "summary"\nratio = 0.5\n', "keep_last = 2").replace(".toml", ".toml")
    Path(folds).write_text(Path(folds).read_text().replace('group = "item"', 'group = "all"'))
    policy = begun(Layered([masks, folds]))
    shown = view([item(1, 200), item(2, 100, Kind.USER), item(3, 300), item(4, 50, Kind.USER)])
    assert policy.check(shown.gauge)
    plan = policy.propose(shown)
    assert plan.operations == (Fold((1, 2)), Mask(3, 10))
    # half of 300, and of the two masks' 190 + 290 the share of the one that is left
    assert plan.believed_saving == 150 + round(480 * 300 / 500)


def test_each_stage_takes_part_by_its_own_trigger_and_its_own_turns(
    stage: Callable[..., str],
    gauge: Callable[..., Gauge],
    item: Callable[..., Item],
    view: Callable[..., View],
) -> None:
    masks = stage("masks", 'kind = "mask"', 'kinds = ["tool_result"]', trigger="tokens = 0")
    rare = stage("rare", 'kind = "evict"', 'kinds = ["assistant"]', trigger="turns = 3")
    policy = begun(Layered([masks, rare]))
    acted = []
    for turn in range(1, 8):
        shown = view(
            [item(2 * turn), item(2 * turn + 1, 100, Kind.ASSISTANT)], turn=turn, requests_since_rewrite=1
        )
        assert policy.check(shown.gauge)
        acted.append(any(isinstance(one, Evict) for one in policy.propose(shown).operations))
        policy.learn(lesson("committed"))
    assert acted == [False, False, False, True, False, False, True]


def test_what_the_first_stage_frees_may_be_enough(
    stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    masks = stage("masks", 'kind = "mask"\nplaceholder = 10', 'kinds = ["tool_result"]')
    evicts = stage("evicts", 'kind = "evict"', 'kinds = ["user"]')
    shown = view([item(1, 300), item(2, 300, Kind.USER)])
    for recounts, operations in ((True, (Mask(1, 10),)), (False, (Evict(2), Mask(1, 10)))):
        policy = begun(Layered([masks, evicts], recounts=recounts))
        assert policy.check(shown.gauge)
        assert policy.propose(shown).operations == operations


def test_a_stage_whose_guard_has_latched_leaves_the_rest_to_the_others(
    stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    masks = stage("masks", 'kind = "mask"', 'kinds = ["tool_result"]')
    once = stage("once", 'kind = "evict"', 'kinds = ["user"]', gates="[guard]\nlatch_after = 1")
    policy = begun(Layered([masks, once]))
    shown = view([item(1, 300), item(2, 300, Kind.USER)])
    sizes = []
    for _ in range(3):
        assert policy.check(shown.gauge)
        sizes.append(len(policy.propose(shown).operations))
        policy.learn(lesson("refused"))
    assert sizes == [2, 1, 1]


LEAST = '[gates]\norder = ["reclaim"]\n[gates.reclaim]\ntokens = {}'


@pytest.mark.parametrize("refusing", ["first", "last"])
def test_what_the_gates_of_a_stage_refuse_is_left_out_and_the_rest_is_done(
    refusing: str, stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    gates = {refusing: LEAST.format(301)}  # of 300 that it could take
    first = stage("first", 'kind = "evict"', 'kinds = ["tool_result"]', gates=gates.get("first", ""))
    last = stage("last", 'kind = "evict"', 'kinds = ["user"]', gates=gates.get("last", ""))
    policy = begun(Layered([first, last]))
    shown = view([item(1, 300), item(2, 300, Kind.USER)])
    assert policy.check(shown.gauge)
    plan = policy.propose(shown)
    assert plan.operations == (Evict(2 if refusing == "first" else 1),)
    assert not plan.refusal
    assert plan.believed_saving == 300


def test_the_whole_is_refused_only_where_all_stages_refuse(
    stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    first = stage("first", 'kind = "evict"', 'kinds = ["tool_result"]', gates=LEAST.format(301))
    last = stage("last", 'kind = "evict"', 'kinds = ["user"]', gates=LEAST.format(302))
    policy = begun(Layered([first, last]))
    shown = view([item(1, 300), item(2, 300, Kind.USER)])
    assert policy.check(shown.gauge)
    plan = policy.propose(shown)
    assert plan.operations == ()
    assert "301" in plan.refusal
    assert "302" in plan.refusal


def test_a_stage_that_may_not_start_leaves_the_others_to_it(
    stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    conserves = '[gates]\norder = ["conservation"]'
    hopeless = 'kinds = ["instruction"]'  # of which nothing stands
    first = stage("first", 'kind = "evict"', 'kinds = ["tool_result"]')
    last = stage("last", 'kind = "evict"', hopeless, gates=conserves)
    shown = view([item(1, 600)], results=600)
    policy = begun(Layered([first, last]))
    assert policy.check(shown.gauge)
    assert policy.admit(shown.gauge).accepted
    assert policy.propose(shown).operations == (Evict(1),)
    none = begun(Layered([stage("other", 'kind = "evict"', hopeless, gates=conserves), last]))
    assert none.check(shown.gauge)
    assert not none.admit(shown.gauge).accepted


def test_savings_that_were_refused_are_not_enough(
    stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    first = stage("first", 'kind = "evict"', 'kinds = ["tool_result"]', gates=LEAST.format(301))
    last = stage("last", 'kind = "evict"', 'kinds = ["user"]')
    policy = begun(Layered([first, last], recounts=True))
    shown = view([item(1, 300), item(2, 300, Kind.USER)])
    assert policy.check(shown.gauge)
    assert policy.propose(shown).operations == (Evict(2),)


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_proposed_by_any_stage_is_judged_by_its_own_gates(
    place: int, stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    gates = ["", ""]
    gates[place] = '[gates]\norder = ["size_cap"]'
    kinds = ('kinds = ["tool_result"]', 'kinds = ["user"]')
    names = [
        stage(f"s{number}", 'kind = "evict"', kind, gates=gate)
        for number, (kind, gate) in enumerate(zip(kinds, gates, strict=True))
    ]
    policy = begun(Layered(names))
    shown = view([item(1, 300), item(2, 300, Kind.USER)])
    assert policy.check(shown.gauge)
    policy.propose(shown)
    assert not policy.judge(Proposal(-1, 0, 0, believed_freed=-1)).accepted
    assert policy.judge(Proposal(1, 0, 0, believed_freed=1)).accepted


def test_the_records_of_what_every_stage_drops_are_kept(
    stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    records = '[gates]\norder = ["evidence"]\n[tombstones]\nplacement = "outside"'
    first = stage("first", 'kind = "evict"', 'kinds = ["tool_result"]', gates=records)
    last = stage("last", 'kind = "mask"', 'kinds = ["user"]')
    policy = begun(Layered([first, last]))
    shown = view([item(1, 300), item(2, 300, Kind.USER)])
    assert policy.terms.tombstones is not None
    assert policy.check(shown.gauge)
    plan = policy.propose(shown)
    assert plan.operations == (Mask(2, 12), Evict(1))
    assert plan.tombstones == (1,)


def test_a_plan_of_nothing_is_refused(
    stage: Callable[..., str], item: Callable[..., Item], view: Callable[..., View]
) -> None:
    one, other = (stage(name, 'kind = "mask"', 'kinds = ["instruction"]') for name in ("one", "other"))
    policy = begun(Layered([one, other]))
    shown = view([item(1, 600)])
    assert policy.check(shown.gauge)
    assert policy.propose(shown).refusal == "nothing to rewrite"


# --------------------------------------------------------------------------- in a file


def test_a_stage_must_be_in_tables_and_there_must_be_two() -> None:
    with pytest.raises(InputError, match="is a class"):
        Escalating(["naive", "gemini-cli-compress"])
    with pytest.raises(InputError, match="1 stages"):
        Layered(["naive"])
    with pytest.raises(InputError, match="at_overflow is 2"):
        Escalating(["naive", "guarded"], at_overflow=2)
    with pytest.raises(InputError, match="unknown policy 'naiv'"):
        Escalating(["naiv", "guarded"])


def test_a_file_hands_its_class_its_parameters_and_an_override_changes_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('class = "policies.staged:Layered"\n[parameters]\nstages = ["naive", "guarded"]\n')
    policy = load_policy(str(path))
    assert isinstance(policy, Layered)
    assert [one.name for one in policy.stages] == ["naive", "guarded"]
    assert policy.name == "mine"
    other = load_policy(str(path), {"parameters.stages": ["guarded", "naive"]})
    assert isinstance(other, Layered)
    assert other.lead.name == "naive"


@pytest.mark.parametrize(
    ("text", "where", "told", "nearest"),
    [
        (
            'class = "policies.staged:Layered"\n[parameters]\nstagse = []',
            "parameters.stagse",
            "no parameter 'stagse'",
            "stages",
        ),
        ("[parameters]\nstages = []", "", "parameters without a class", ""),
        ('class = "policies.staged:Layered"', "class", "cannot be made", ""),
    ],
)
def test_bad_parameters_are_told_in_one_line(
    text: str, where: str, told: str, nearest: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError) as fault:
        load_policy(str(path))
    assert told in fault.value.what
    assert where in fault.value.where
    assert (fault.value.nearest or "") == nearest
