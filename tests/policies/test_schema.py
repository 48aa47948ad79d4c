"""Policy files: what is wrong is said in one line, with file, key, what was expected and the nearest name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import ComposedPolicy, load_policy, policy_names
from policies.gate_tables import GATES
from policies.gates import (
    BindingGate,
    CoherenceGate,
    ConservationGate,
    EvidenceGate,
    SizeCapGate,
)
from policies.guards import GuardTerms
from policies.keeping import Keeping
from policies.loader import read_policy, resolved
from policies.schema import PolicyFile
from policies.triggers import Trigger
from simulator.catalogue import validated
from simulator.contracts import (
    BackgroundTerms,
    CheckPoint,
    Component,
    CounterKind,
    CounterTerms,
    Fingerprint,
    InstructionTerms,
    KeepWarmTerms,
    MeasurementPlan,
    Need,
    Placement,
    Proposal,
    ReinjectionTerms,
    RequestTerms,
    Terms,
    TombstoneTerms,
    WindowTerms,
)
from simulator.errors import InputError
from simulator.questions import Amendment, Reliance, Vitals
from simulator.spans import Kind

pytestmark = pytest.mark.unit


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A path for one policy file."""
    return tmp_path / "mine.toml"


def refused(file: Path, text: str) -> InputError:
    file.write_text(text)
    with pytest.raises(InputError) as told:
        load_policy(str(file))
    assert "\n" not in str(told.value)
    return told.value


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("[trigger]\nfracton = 0.9", "trigger.fracton", "fraction"),
        ("[selector]\nordr = 'oldest'", "selector.ordr", "order"),
        ("[triger]\nfraction = 0.9", "triger", "trigger"),
        ("[guard]\nescalate = 2", "guard.escalate", "escalate_after"),
        ("sumary = 'x'", "sumary", "summary"),
    ],
)
def test_an_unknown_key_is_shown_with_its_place_and_the_nearest(
    text: str, key: str, nearest: str, file: Path
) -> None:
    told = refused(file, text)
    assert told.where == f"{file}: {key}"
    assert told.nearest == nearest
    assert nearest in told.expected


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[trigger]\nfraction = '0.9'", "trigger.fraction"),
        ("[trigger]\nfraction = true", "trigger.fraction"),
        ("[selector]\nlimit = 6.5", "selector.limit"),
        ("[selector]\nlimit = true", "selector.limit"),
        ("[selector]\ndead_first = 1", "selector.dead_first"),
        ("[selector]\nkinds = 'tool_result'", "selector.kinds"),
        ("[gates]\norder = 'conservation'", "gates.order"),
        ("summary = 3", "summary"),
        ("trigger = 0.9", "trigger"),
        ("[[trigger]]\nfraction = 0.9", "trigger"),
        ("class = 3", "class"),
    ],
)
def test_a_value_of_the_wrong_type_is_shown_with_its_place(text: str, key: str, file: Path) -> None:
    assert refused(file, text).where == f"{file}: {key}"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[trigger]\nfraction = 0.0", "trigger.fraction"),
        ("[trigger]\nfraction = -0.5", "trigger.fraction"),
        ("[trigger]\nfraction = 91", "trigger.fraction"),
        ("[trigger]\nlow_watermark = 1.01", "trigger.low_watermark"),
        ("[trigger]\nregrow = -0.01", "trigger.regrow"),
        ("[trigger]\ncheck_points = []", "trigger.check_points"),
        ("[trigger]\ncheck_points = ['noon']", "trigger.check_points.0"),
        ("[counter]\nratio = 0", "counter.ratio"),
        ("[deliberation]\ncap = 0", "deliberation.cap"),
        ("[selector]\nlimit = 0", "selector.limit"),
        ("[selector]\norder = 'newest'", "selector.order"),
        ("[selector]\nkinds = ['essay']", "selector.kinds.0"),
        ("[selector]\nkeep_last = -1", "selector.keep_last"),
        ("[replacement]\nratio = 1.5", "replacement.ratio"),
        ("[replacement]\nkind = 'forget'", "replacement.kind"),
        ("[replacement]\ncap = 0", "replacement.cap"),
        ("[measurement]\nplan = 'sometimes'", "measurement.plan"),
        ("[measurement]\ncheckpoint_every = 0", "measurement.checkpoint_every"),
        ("[admission]\nweight = 0.0", "admission.weight"),
        ("[admission]\nweight = 1.1", "admission.weight"),
        ("[gates]\norder = ['consrvation']", "gates.order.0"),
        ("[gates]\norder = ['evidence', 'size_cap', 'evidence']", "gates.order"),
        ("[gates.binding]\ncap = 0", "gates.binding.cap"),
        ("[gates.binding]\ncap = 'nothing'", "gates.binding.cap"),
        ("[gates.coherence]\nthreshold = -0.1", "gates.coherence.threshold"),
        ("[gates.coherence]\ncheap_tokens = -1", "gates.coherence.cheap_tokens"),
        ("[gates.evidence]\nenabled = 1", "gates.evidence.enabled"),
        ("[selector]\nsalience_turns = 0", "selector.salience_turns"),
        ("[selector]\nrecency_weight = -1.0", "selector.recency_weight"),
        ("[tombstones]\nplacement = 'inside'", "tombstones.placement"),
        ("[tombstones]\ntokens = 0", "tombstones.tokens"),
        ("[instructions]\nfingerprint = 'inside-free'", "instructions.fingerprint"),
        ("[instructions]\nrepeats_every = 0", "instructions.repeats_every"),
        ("[guard]\nescalate_after = 0", "guard.escalate_after"),
        ("[guard]\nretries = -1", "guard.retries"),
        ("[guard]\nretries = 21", "guard.retries"),
    ],
)
def test_a_value_out_of_range_is_shown_with_its_place(text: str, key: str, file: Path) -> None:
    assert refused(file, text).where == f"{file}: {key}"


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "+nan"])
@pytest.mark.parametrize(
    "key", ["trigger.fraction", "counter.ratio", "replacement.ratio", "admission.weight"]
)
def test_neither_nan_nor_infinity_is_a_number(number: str, key: str, file: Path) -> None:
    table, name = key.split(".")
    told = refused(file, f"[{table}]\n{name} = {number}")
    assert str(file) in told.where


def test_several_faults_are_counted(file: Path) -> None:
    assert "(and 2 more)" in str(refused(file, "[selector]\nlimit = 0\nkeep_last = -1\norder = 'x'"))


@pytest.mark.parametrize(
    "text", ["[trigger\n[selector]\n", "[a]\nb = 1\nb = 2\nc = 3\n", "[trigger]\nfraction =\n[a]\n"]
)
def test_what_is_no_toml_is_shown_with_its_line(text: str, file: Path) -> None:
    fault = refused(file, text)
    assert fault.where == str(file)
    assert fault.what.startswith("not TOML")
    assert "at line" in fault.what


def test_a_base_hands_down_all_but_its_summary_and_source(file: Path) -> None:
    file.write_text('base = "guarded"\n[deliberation]\ncap = 90\n')
    entry, below = read_policy(str(file)), read_policy("guarded")
    assert entry.base == "guarded"
    assert "summary" not in entry.data
    assert "source" not in entry.data
    assert load_policy(str(file)).terms.rationale_cap == 90
    assert entry.data["gates"] == below.data["gates"]
    assert load_policy(str(file)).name == "mine"


@pytest.mark.parametrize("base", [name for name in policy_names() if read_policy(name).base])
def test_a_base_with_a_base_is_refused(base: str, file: Path) -> None:
    told = refused(file, f'base = "{base}"')
    assert told.where == f"{file}: base"
    assert told.expected == "one base, no chain"


def test_a_file_of_ones_own_can_be_a_base_beside_it(tmp_path: Path, file: Path) -> None:
    (tmp_path / "ground.toml").write_text("[deliberation]\ncap = 33\n")
    file.write_text('base = "ground"\n')
    assert load_policy(str(file)).terms.rationale_cap == 33


def test_a_file_that_is_its_own_base_is_refused(file: Path) -> None:
    assert "base" in refused(file, 'base = "mine"').where


@pytest.mark.parametrize(("base", "nearest"), [('"gaurded"', "guarded"), ("3", "")])
def test_an_unknown_base_is_shown_with_the_nearest(base: str, nearest: str, file: Path) -> None:
    told = refused(file, f"base = {base}")
    assert told.nearest == nearest
    assert str(file) in told.where


def test_an_empty_file_is_a_policy_that_never_rewrites(file: Path) -> None:
    file.write_text("")
    policy = load_policy(str(file))
    assert isinstance(policy, ComposedPolicy)
    assert policy.parts.trigger is None
    assert policy.parts.gates == ()
    assert policy.terms == Terms()


def test_every_table_reaches_the_policy(file: Path) -> None:
    file.write_text(
        """
        [trigger]
        fraction = 0.8
        low_watermark = 0.5
        regrow = 0.1
        check_points = ["turn_end", "user_turn"]
        [counter]
        ratio = 0.72
        [deliberation]
        enabled = false
        cap = 7
        [selector]
        order = "oldest"
        limit = 4
        kinds = ["tool_result", "assistant", "head"]
        exempt = ["assistant"]
        keep_last = 2
        dead_first = true
        evict_unit = "subgoal"
        only_savings = true
        recency_weight = 0.5
        salience_weight = 2.0
        salience_turns = 3
        [replacement]
        kind = "mask"
        ratio = 0.2
        ratio_per_pass = 0.1
        cap = 50
        placeholder = 3
        group = "item"
        [measurement]
        plan = "checkpoint"
        checkpoint_every = 5
        ambiguity_limit = 2
        [charging]
        measurement = false
        [marks]
        immutable_this_turn = true
        never_summarised = true
        retire = true
        [admission]
        moving_average = false
        weight = 0.25
        [gates]
        order = ["size_cap", "conservation", "binding", "evidence", "coherence"]
        [gates.binding]
        cap = 2
        [tombstones]
        placement = "inside-charged"
        tokens = 9
        [instructions]
        edits = false
        fingerprint = "inside"
        diagnoses = true
        monotonic = true
        consolidates = true
        emphatic = true
        repeats_every = 5
        [guard]
        escalate_after = 3
        reset = "recovery"
        retries = 2
        endless_window = true
        """
    )
    policy = load_policy(str(file))
    assert isinstance(policy, ComposedPolicy)
    points = frozenset({CheckPoint.TURN_END, CheckPoint.USER_TURN})
    assert policy.terms == Terms(
        check_points=points,
        deliberates=False,
        rationale_cap=7,
        summary_cap=50,
        measurement=MeasurementPlan.CHECKPOINT,
        checkpoint_every=5,
        ambiguity_limit=2,
        counter=CounterTerms(ratio=0.72),
        charges=frozenset({Component.RATIONALE}),
        immutable_this_turn=True,
        never_summarised=True,
        retires=True,
        retries=2,
        endless_window=True,
        tombstones=TombstoneTerms(Placement.INSIDE_CHARGED, 9),
        red_flag=True,
        instructions=InstructionTerms(False, Fingerprint.INSIDE, True, True, True, True, 5),
    )
    parts = policy.parts
    assert parts.trigger == Trigger(0.8, 0.5, 0.1, points)
    selector, rule = parts.selector, parts.replacement
    assert selector.kinds == frozenset({Kind.TOOL_RESULT, Kind.ASSISTANT, Kind.HEAD})
    assert selector.exempt == frozenset({Kind.ASSISTANT})
    assert (selector.order, selector.limit, selector.keeping) == ("oldest", 4, Keeping(last=2))
    assert (selector.dead_first, selector.evict_unit, selector.only_savings) == (True, "subgoal", True)
    assert (selector.recency_weight, selector.salience_weight, selector.salience_turns) == (0.5, 2.0, 3)
    assert (rule.kind, rule.ratio, rule.ratio_per_pass, rule.cap) == ("mask", 0.2, 0.1, 50)
    assert (rule.placeholder, rule.group_by, rule.tombstone) == (3, "item", 9)
    assert (parts.admission.moving_average, parts.admission.weight) == (False, 0.25)
    assert (parts.guard.escalate_after, parts.guard.reset) == (3, "recovery")
    gates = [SizeCapGate, ConservationGate, BindingGate, EvidenceGate, CoherenceGate]
    assert [type(gate) for gate in parts.gates] == gates


# --------------------------------------------------------------------------- what real systems need


def test_every_key_of_the_tables_of_real_systems_reaches_its_part(file: Path) -> None:
    file.write_text(
        """
        needs = ["user_turns", "pairs"]
        [trigger]
        tokens = 1
        reserve = 2
        messages = 3
        turns = 4
        first_turns = 5
        output_most = 16
        all = true
        latches = true
        target_tokens = 6
        [counter]
        kind = "usage"
        ratios = { json = 0.7, cjk = 0.3 }
        head = false
        tail = true
        follows_rewrites = false
        tokens = 7
        [window]
        tokens = 8
        follows_switches = false
        [selector]
        enough_tokens = 1
        keep_first = 2
        keep_last = 3
        keep_tokens = 4
        keep_share = 0.5
        keep_of = "usable"
        keep_rounds = "up"
        keep_counts_head = true
        keep_turns = 6
        keep_requests = 7
        keep_results = 8
        keep_result_tokens = 9
        keep_users = 10
        keep_user_tokens = 11
        oldest_share = 0.12
        oldest_step = 0.13
        oldest_least = 14
        cut = "paired"
        cut_moves = "forward"
        cut_else = "back"
        pairs = "whole"
        polling = 15
        [replacement]
        kind = "clip"
        clip_tokens = 16
        clip_over = 17
        group = "all"
        position = "last"
        [request]
        overhead_tokens = 1
        calls = 2
        shares_prefix = true
        reads_all = true
        coverage_tokens = 3
        item_tokens = 4
        window = 5
        price = 0.6
        ladder = [0.7, 0.8]
        on_failure = "drop"
        refuses_empty = false
        from_user = true
        stub_tokens = 9
        [background]
        enabled = true
        overwrites = true
        [reinjection]
        fixed_tokens = 1
        results = 2
        result_tokens = 3
        standing_tokens = "all"
        standing_item_tokens = 4
        [keep_warm]
        enabled = true
        ping_seconds = 1.5
        longest_seconds = 2.5
        [guard]
        latch_after = 1
        halt_after = 2
        strike_on = ["futile", "failed"]
        futile_share = 0.3
        thrash_turns = 4
        cooldown = 5
        cooldown_unit = "seconds"
        most = 6
        per = 7
        """
    )
    policy = load_policy(str(file))
    assert isinstance(policy, ComposedPolicy)
    terms, parts = policy.terms, policy.parts
    assert terms.needs == {Need.USER_TURNS, Need.PAIRS}
    assert parts.trigger == Trigger(
        tokens=1, reserve=2, messages=3, turns=4, first_turns=5, together=True, latches=True, target_tokens=6,
        output_most=16,
    )  # fmt: skip
    ratios = (("json", 0.7), ("cjk", 0.3))
    assert terms.counter == CounterTerms(CounterKind.USAGE, 1.0, ratios, False, True, False, 7)
    assert terms.window == WindowTerms(8, False)
    assert parts.selector.enough_tokens == 1
    assert parts.selector.keeping == Keeping(
        2, 3, 4, 0.5, "usable", "up", True, 6, 7, 0.12, 0.13, 14, "paired", "forward", "back", 8, 15, 9, 10,
        11, "whole",
    )  # fmt: skip
    rule = parts.replacement
    assert (rule.kind, rule.clip_tokens, rule.clip_over, rule.group_by) == ("clip", 16, 17, "all")
    assert rule.position == "last"
    assert terms.request == RequestTerms(
        overhead_tokens=1,
        calls=2,
        shares_prefix=True,
        reads_all=True,
        coverage_tokens=3,
        item_tokens=4,
        window=5,
        price=0.6,
        ladder=(0.7, 0.8),
        on_failure="drop",
        refuses_empty=False,
        from_user=True,
        stub_tokens=9,
    )
    assert terms.background == BackgroundTerms(overwrites=True)
    assert terms.reinjection == ReinjectionTerms(1, 2, 3, None, 4)
    assert terms.keep_warm == KeepWarmTerms(1.5, 2.5)
    assert parts.guard == GuardTerms(
        None, "commit", frozenset({"futile", "failed"}), 0.3, 4, 1, 2, 5.0, "seconds", 6, 7
    )
    assert terms.red_flag


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("[counter.ratios]\ncjkk = 0.3", "counter.ratios.cjkk", "cjk"),
        ("[counter]\nkind = 'usages'", "counter.kind", "usage"),
        ("[request]\nprice = -1.0", "request.price", None),
        ("[request]\nladder = [0.0]", "request.ladder.0", None),
        ("[guard]\nstrike_on = ['refusd']", "guard.strike_on.0", "refused"),
        ("[selector]\ncut = 'not_results'", "selector.cut", "not_result"),
        ("needs = ['user_turn']", "needs.0", "user_turns"),
        ("group = 'zo'", "group", "zoo"),
        ("gate_class = 'G6'", "gate_class", None),
        ("[gates]\norder = ['reclame']", "gates.order.0", "reclaim"),
    ],
)
def test_a_bad_word_is_told_with_its_place_and_the_nearest(
    text: str, key: str, nearest: str | None, file: Path
) -> None:
    told = refused(file, text)
    assert told.where == f"{file}: {key}"
    assert nearest is None or told.nearest == nearest


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[trigger]\nlow_watermark = 0.5\ntarget_tokens = 9", "low_watermark and target_tokens"),
        ("[guard]\nstrike_on = ['futile']", "nothing says what is"),
    ],
)
def test_what_contradicts_itself_is_told(text: str, told: str, file: Path) -> None:
    assert told in str(refused(file, text))


def test_without_a_limit_a_policy_acts_at_an_overflow_alone(file: Path) -> None:
    file.write_text("[selector]\nlimit = 1")
    policy = load_policy(str(file))
    assert isinstance(policy, ComposedPolicy)
    assert policy.parts.trigger is None
    file.write_text("[trigger]\ncheck_points = ['overflow']")
    policy = load_policy(str(file))
    assert isinstance(policy, ComposedPolicy)
    assert policy.parts.trigger == Trigger(check_points=frozenset({CheckPoint.OVERFLOW}))


def test_every_switch_of_a_small_gate_reaches_it(file: Path) -> None:
    file.write_text(
        """
        [gates]
        order = ["reclaim", "size_cap", "result_target", "prediction", "payback", "progress"]
        [gates.reclaim]
        tokens = 1
        share = 0.2
        share_of_messages = 0.3
        counts = "selected"
        [gates.size_cap]
        scope = "mixed"
        equal_passes = true
        [gates.result_target]
        share = 0.4
        [gates.payback]
        as_many_again = 0.5
        headroom_turns = 6
        [gates.progress]
        share = 0.7
        """
    )
    policy = load_policy(str(file))
    assert isinstance(policy, ComposedPolicy)
    reclaim, size_cap, target, _, payback, progress = map(vars, policy.parts.gates)
    assert [reclaim[key] for key in ("_tokens", "_share", "_share_of_messages", "_whole")] == [
        1,
        0.2,
        0.3,
        True,
    ]
    assert (size_cap["_mixed"], size_cap["_least"], target["_share"]) == (True, 0, 0.4)
    assert (payback["_as_many_again"], payback["_headroom_turns"], progress["_share"]) == (0.5, 6, 0.7)


def test_what_a_file_is_it_does_not_hand_down(file: Path) -> None:
    file.write_text('base = "pi"')
    data = read_policy(str(file)).data
    assert not {"summary", "source", "version", "group"} & set(data)
    assert data["gate_class"] == "G0"


# --------------------------------------------------------------------------- gates, tombstones, instructions

FLAG = Vitals(900, 1_000, 0.9, 0.8, None)
LEAN = Reliance("payload", None, {})


def test_every_switch_of_a_gate_reaches_it(file: Path) -> None:
    file.write_text(
        """
        [gates]
        order = ["evidence", "coherence", "binding"]
        [gates.evidence]
        red_flag = false
        [gates.coherence]
        threshold = 0.7
        retain_antecedents = false
        cheap_tokens = 40
        [gates.binding]
        cap = 1
        imperative = false
        rederive = false
        """
    )
    policy = load_policy(str(file))
    assert isinstance(policy, ComposedPolicy)
    assert not policy.terms.red_flag
    assert policy.resume(FLAG).accepted
    coherence = vars(policy.parts.gates[1])
    assert (coherence["_threshold"], coherence["_retains"], coherence["_cheap"]) == (0.7, False, 40)
    assert policy.rely(LEAN).accepted
    assert policy.amend(Amendment("payload", narrative=True)).accepted
    assert not policy.amend(Amendment("payload")).accepted


def test_a_gate_without_words_has_the_figures_of_its_record(file: Path) -> None:
    file.write_text(
        '[gates]\norder = ["evidence", "coherence", "binding"]\n[instructions]\nfingerprint = "outside"'
    )
    policy = load_policy(str(file))
    assert policy.terms.red_flag
    assert not policy.resume(FLAG).accepted
    assert not policy.rely(LEAN).accepted
    assert not policy.amend(Amendment("payload", narrative=True)).accepted
    assert [policy.amend(Amendment("payload")).accepted for _ in range(5)] == [True] * 4 + [False]


def test_a_cap_can_be_taken_away() -> None:
    policy = load_policy("guarded", {"gates.binding.cap": "none"})
    assert all(policy.amend(Amendment("payload")).accepted for _ in range(99))


@pytest.mark.parametrize("gate", ["binding", "coherence", "conservation", "evidence"])
def test_a_gate_that_is_named_but_not_enabled_is_off_and_its_cure_with_it(gate: str) -> None:
    policy = load_policy("guarded", {f"gates.{gate}.enabled": False})
    assert isinstance(policy, ComposedPolicy)
    assert gate not in {one.name for one in policy.parts.gates}
    assert len(policy.parts.gates) == 3
    evidence, binding = gate != "evidence", gate != "binding"
    assert policy.terms.red_flag is evidence
    assert (policy.terms.tombstones is not None) is evidence
    assert (policy.terms.instructions.fingerprint is not Fingerprint.NONE) is binding


def test_all_gates_switched_off_are_no_gates() -> None:
    gates = ("binding", "coherence", "conservation", "evidence")
    policy = load_policy("guarded", {f"gates.{gate}.enabled": False for gate in gates})
    assert isinstance(policy, ComposedPolicy)
    assert policy.parts.gates == ()
    assert policy.judge(Proposal(-9, 9, 9)).accepted


@pytest.mark.parametrize(
    ("placement", "tokens"), [("outside", 0), ("inside-free", 0), ("inside-charged", 12)]
)
def test_only_a_charged_tombstone_is_part_of_what_is_believed(placement: str, tokens: int) -> None:
    policy = load_policy("guarded", {"tombstones.placement": placement})
    assert isinstance(policy, ComposedPolicy)
    assert policy.parts.replacement.tombstone == tokens


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[gates]\norder = ['size_cap', 'size_cap']", "gate 'size_cap' stands twice"),
        (
            "[tombstones]\nplacement = 'outside'",
            "tombstones.placement is 'outside' without the evidence gate",
        ),
        (
            "[instructions]\nfingerprint = 'inside'",
            "instructions.fingerprint is 'inside' without the binding",
        ),
        ("[instructions]\nconsolidates = true", "instructions.consolidates is true without the binding gate"),
        ("[gates]\norder = ['binding']", "instructions.fingerprint is 'none' where gates.binding.rederive"),
    ],
)
def test_switches_that_contradict_each_other_are_told_in_one_line(text: str, told: str, file: Path) -> None:
    fault = str(refused(file, text))
    assert fault.startswith(str(file))
    assert told in fault
    assert "expected" in fault


def test_gates_are_named_in_files_as_they_name_themselves() -> None:
    assert {name: gate().name for name, gate in GATES.items()} == {name: name for name in GATES}


@pytest.mark.parametrize("name", policy_names())
def test_what_is_resolved_is_a_file_that_makes_the_same_policy(name: str) -> None:
    data = resolved(name)
    first = load_policy(name)
    if data.get("class"):  # which has no defaults in tables
        assert data == read_policy(name).data
        return
    again = validated(PolicyFile, data, name).policy(name)
    assert isinstance(first, ComposedPolicy)
    assert again.terms == first.terms
    assert again.parts.selector == first.parts.selector
    assert again.parts.trigger == first.parts.trigger
    assert validated(PolicyFile, data, name).model_dump(mode="json", by_alias=True) == data


@pytest.mark.property
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
        max_leaves=6,
    ),
    st.sampled_from(
        [
            *PolicyFile.model_fields,
            "gates.order",
            "gates.binding.cap",
            "gates.evidence.enabled",
            "tombstones.placement",
            "instructions.fingerprint",
            "selector.limit",
            "trigger.fraction",
            "x.y",
        ]
    ),
)
def test_any_value_at_any_key_makes_a_policy_or_an_input_error(value: object, key: str) -> None:
    try:
        policy = load_policy("guarded", {key: value})
    except InputError as told:
        assert "\n" not in str(told)
    else:
        assert isinstance(policy.terms, Terms)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("[selector]\noldest_share = 0.1\noldest_step = 1e-9", "selector.oldest_step"),
        ("[keep_warm]\nenabled = true\nping_seconds = 5e-324", "keep_warm.ping_seconds"),
        ("[reinjection]\nstanding_tokens = 'al'", "reinjection.standing_tokens: "),
    ],
)
def test_what_would_take_for_ever_or_means_nothing_is_refused(tmp_path: Path, said: str, told: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(said)
    with pytest.raises(InputError) as fault:
        load_policy(str(path))
    assert told in str(fault.value)
