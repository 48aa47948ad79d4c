"""What words of the command line mean: overrides of scenario, policies and experiments, and sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.words import (
    LONGEST_SHOWN,
    experiment_overrides,
    session_of,
    shortened,
    split_overrides,
)
from simulator import InputError


@pytest.mark.unit
def test_each_word_has_one_owner() -> None:
    words = ["window.tokens=100", "policy.a.b=1", "naive.a.c=2", "my/p.toml.a.d=3"]
    words += ["naively.a=4", "x.naive.y=5"]
    of_scenario, of_policies = split_overrides(words, ["naive", "my/p.toml"])
    assert of_scenario == {"window.tokens": 100, "naively.a": 4, "x.naive.y": 5}
    assert of_policies == {"naive": {"a.b": 1, "a.c": 2}, "my/p.toml": {"a.b": 1, "a.d": 3}}


@pytest.mark.unit
def test_of_two_names_the_longer_owns_a_path() -> None:
    _, of_policies = split_overrides(["naive.toml.a.b=1"], ["naive", "naive.toml"])
    assert of_policies == {"naive": {}, "naive.toml": {"a.b": 1}}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("1_000", 1_000),
        ("-0.5", -0.5),
        ("1e3", 1_000.0),
        ("true", True),
        ('"a = b"', "a = b"),
        ("'5'", "5"),
        ('["a", "b"]', ["a", "b"]),
    ],
)
def test_values_are_toml(text: str, value: object) -> None:
    found, _ = split_overrides([f" a.b ={text}"], [])
    assert found == {"a.b": value}
    assert type(found["a.b"]) is type(value)
    assert experiment_overrides([f"a.b={text}"]) == {"set": {"a.b": value}}
    assert experiment_overrides([f"experiment.a.b={text}"]) == {"a.b": value}


@pytest.mark.unit
def test_words_of_an_experiment_are_its_own_or_those_of_every_run() -> None:
    words = ["experiment.seed=1", "run.horizon=4", "policy.trigger.fraction=0.5", "run.horizon=5"]
    words += ["experiments.x=1"]
    assert experiment_overrides(words) == {
        "seed": 1,
        "set": {"run.horizon": 5, "policy.trigger.fraction": 0.5, "experiments.x": 1},
    }
    assert experiment_overrides([]) == {}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("nothing", "--set: 'nothing' sets nothing; expected path=value"),
        ("=3", "--set: '=3' sets nothing"),
        ("  =3", "sets nothing"),
        ("a.b=", "--set a.b: '' is not a TOML value; expected a number, true, false, or \"text\""),
        ("a.b=yes", "--set a.b: 'yes' is not a TOML value"),
        ("a.b=1\nc = 2", "is not a TOML value"),
        ("a.b=" + "[" * 5_000, "is not a TOML value"),
        ("a.b=" + "9" * 5_000, "is not a TOML value"),
    ],
)
def test_words_that_say_nothing(word: str, told: str) -> None:
    for read in (lambda: split_overrides([word], []), lambda: experiment_overrides([word])):
        with pytest.raises(InputError) as caught:
            read()
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.property
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_in_one_printable_line(text: str) -> None:
    try:
        experiment_overrides([text])
    except InputError as fault:
        assert str(fault).isprintable()


@pytest.mark.unit
def test_sessions_of_a_log() -> None:
    assert [session_of(word) for word in (None, "all", "0", "17")] == [None, "all", 0, 17]
    for word in ("-1", "1.0", "ALL", "", "٣", "9" * 10):
        with pytest.raises(InputError, match="is no session; expected a number from 0, or all"):
            session_of(word)


@pytest.mark.unit
def test_long_words_leave_room() -> None:
    assert shortened("x" * LONGEST_SHOWN) == "x" * LONGEST_SHOWN
    assert shortened("x" * 1_000) == "x" * LONGEST_SHOWN + "..."
