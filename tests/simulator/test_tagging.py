"""Tags come out at their recall and precision, keyed by what they are on, whoever looks at them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simulator.contracts import Policy, Turn
from simulator.errors import InputError
from simulator.plan import Evict, RewritePlan
from simulator.setting import Setting
from simulator.simulation import simulate
from simulator.spans import Kind, Span
from simulator.streams import Streams
from simulator.tagging import Tagger, TagQuality, TagSpec
from simulator.view import View

Make = Callable[..., Policy]
FALSE_ALARM = 1e-6  # how often a theory test of this file fails though the code is right
NUMBER = 6_000
QUALITIES = [TagQuality(0.5, 0.5), TagQuality(0.9, 0.6), TagQuality(0.6, 0.8), TagQuality(0.7, 1.0)]


def spans_of(deserving: list[bool]) -> tuple[Span, ...]:
    """Return spans of which these state a constraint; the others are needed."""
    return tuple(
        Span(one, Kind.USER, 10, constraint=states, needed=not states, binds=(one,) if states else ())
        for one, states in enumerate(deserving)
    )


def tagger(*, seed: int = 5, **qualities: TagQuality) -> Tagger:
    return Tagger(TagSpec(**qualities), Streams(seed, "tags"))


def must_come_out(truth: list[bool], tags: list[bool], quality: TagQuality) -> None:
    """Hold what was tagged rightly and wrongly against binomial intervals of recall and precision."""
    right = sum(tag and deserved for tag, deserved in zip(tags, truth, strict=True))
    wrong = sum(tags) - right
    low, high = stats.binom.interval(1 - FALSE_ALARM, sum(truth), quality.recall)
    assert low <= right <= high
    # given what is right, what is wrong makes up the share 1 - precision of all tags
    low, high = stats.binom.interval(1 - FALSE_ALARM, right, (1 - quality.precision) / quality.precision)
    assert low <= wrong <= high


# --------------------------------------------------------------------------- recall and precision


@pytest.mark.theory
@pytest.mark.parametrize("quality", QUALITIES, ids=str)
@pytest.mark.parametrize("every", [2, 3, 10])
def test_recall_and_precision_come_out_at_their_values(quality: TagQuality, every: int) -> None:
    truth = [one % every == 0 for one in range(NUMBER)]
    tagged = tagger(constraint=quality).arriving(spans_of(truth))
    must_come_out(truth, [bool(span.constraint) for span in tagged], quality)
    wrong_way = tagger(needed=quality).arriving(spans_of([not one for one in truth]))
    must_come_out(truth, [span.needed for span in wrong_way], quality)


@pytest.mark.theory
@pytest.mark.parametrize("quality", QUALITIES, ids=str)
def test_they_do_so_where_what_deserves_a_tag_comes_all_at_once(quality: TagQuality) -> None:
    truth = [one < NUMBER // 3 for one in range(NUMBER)]
    tagged = tagger(constraint=quality).arriving(spans_of(truth))
    must_come_out(truth, [bool(span.constraint) for span in tagged], quality)


@pytest.mark.theory
@pytest.mark.parametrize("recall", [0.0, 1.0])
def test_at_the_ends_all_or_none_are_tagged(recall: float) -> None:
    tagged = tagger(constraint=TagQuality(recall), needed=TagQuality(0.5)).arriving(spans_of([True] * 50))
    assert [span.constraint for span in tagged] == [recall == 1] * 50


@pytest.mark.theory
@pytest.mark.parametrize("quality", QUALITIES, ids=str)
def test_subgoals_are_missed_and_the_next_one_is_closed_too_soon(quality: TagQuality) -> None:
    one = tagger(closed=quality)
    told = [one.closing((10 * goal,)) for goal in range(NUMBER)]
    right = sum(10 * goal in tags for goal, tags in enumerate(told))
    wrong = sum(10 * goal + 1 in tags for goal, tags in enumerate(told))
    assert sum(map(len, told)) == right + wrong
    low, high = stats.binom.interval(1 - FALSE_ALARM, NUMBER, quality.recall)
    assert low <= right <= high
    low, high = stats.binom.interval(1 - FALSE_ALARM, right, (1 - quality.precision) / quality.precision)
    assert low <= wrong <= high


# --------------------------------------------------------------------------- what tags are keyed by


@pytest.mark.property
@given(st.lists(st.booleans(), max_size=30), st.sets(st.integers(0, 29)))
def test_whether_a_tag_is_missed_hangs_on_its_span_alone(truth: list[bool], kept: set[int]) -> None:
    spans = spans_of(truth)
    some = tuple(span for span in spans if span.id in kept)
    quality = {"constraint": TagQuality(0.5)}
    tags = {span.id: span.constraint for span in tagger(**quality).arriving(spans)}
    assert {span.id: span.constraint for span in tagger(**quality).arriving(some)} == {
        span.id: tags[span.id] for span in some
    }


@pytest.mark.property
@given(st.lists(st.booleans(), max_size=30))
def test_one_tag_moves_no_other_and_no_truth(truth: list[bool]) -> None:
    poor = TagQuality(0.5, 0.5)
    spans = spans_of(truth)
    tagged = tagger(constraint=poor, needed=TagQuality(1.0)).arriving(spans)
    assert [span._replace(constraint=False) for span in tagged] == [
        span._replace(constraint=False) for span in spans
    ]
    both = tagger(constraint=poor, needed=poor).arriving(spans)
    assert [span.constraint for span in both] == [span.constraint for span in tagged]


@pytest.mark.property
def test_all_policies_meet_the_same_tags(listed: type, scripted: Make) -> None:
    def turns() -> tuple[Turn, ...]:
        made = []
        for turn in range(1, 41):
            span = Span(turn, Kind.TOOL_RESULT, 10, turn, subgoal=turn // 4, needed=turn % 3 == 0)
            said = Span(100 + turn, Kind.USER, 10, turn, constraint=turn % 2 == 0)
            made.append(Turn((said, span), closes=(turn // 4 - 1,) if turn % 4 == 0 else ()))
        return tuple(made)

    def tags_seen(plan: object) -> tuple[dict[int, tuple[object, ...]], int]:
        policy = scripted(propose_by=plan)
        poor = TagQuality(0.6, 0.7)
        setting = Setting("tags", 10**6, listed(turns()), tags=TagSpec(poor, poor, poor))
        run = simulate(setting, policy, 3)
        seen: dict[int, tuple[object, ...]] = {}
        for view in policy.views:
            for item in view.items:
                if item.id >= 0:
                    seen.setdefault(item.id, (item.constraint, item.needed))
        return seen, run.summary["tokens_freed"]

    def evicts_the_oldest(view: View) -> RewritePlan:
        return RewritePlan((Evict(view.items[0].id),), 1)

    (kept, nothing), (evicted, freed) = tags_seen(RewritePlan()), tags_seen(evicts_the_oldest)
    assert (nothing, freed > 0) == (0, True)
    assert kept == evicted
    assert {tags[0] for tags in kept.values()} == {True, False}


# --------------------------------------------------------------------------- perfect tags, and bad ones


@pytest.mark.property
@given(st.lists(st.booleans(), max_size=20), st.lists(st.integers(0, 9), max_size=3))
def test_perfect_tags_leave_all_as_it_is(truth: list[bool], subgoals: list[int]) -> None:
    spans, closes = spans_of(truth), tuple(subgoals)
    assert tagger().arriving(spans) is spans
    assert tagger().closing(closes) is closes


@pytest.mark.unit
def test_what_nobody_has_classified_stays_so() -> None:
    (span,) = tagger(constraint=TagQuality(0.0)).arriving((Span(1, Kind.USER, 10, constraint=None),))
    assert span.constraint is None


@pytest.mark.unit
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"recall": -0.1}, "recall is -0.1; expected 0.0 to 1"),
        ({"recall": 1.1}, "recall is 1.1"),
        ({"precision": 0.4}, "precision is 0.4; expected 0.5 to 1"),
        ({"precision": 1.5}, "precision is 1.5"),
        ({"recall": float("nan")}, "recall is nan"),
    ],
)
def test_a_quality_that_cannot_be_is_told(said: dict[str, float], told: str) -> None:
    with pytest.raises(InputError, match=told):
        TagQuality(**said)
