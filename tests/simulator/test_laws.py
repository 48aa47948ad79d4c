"""The laws: hand-computed points, monotonicity, neutral defaults, and a source for every parameter."""

from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simulator
from simulator import laws
from simulator.contracts import Parameter
from simulator.laws import (
    AnswerLaw,
    BindingLaw,
    CoherenceLaw,
    EvidenceLaw,
    Laws,
    MeasurementLaw,
    QualityLaw,
    RationaleLaw,
    SummaryLaw,
)
from simulator.provider import ProviderSpec

PARAMETER_CLASSES = (
    RationaleLaw,
    QualityLaw,
    SummaryLaw,
    AnswerLaw,
    MeasurementLaw,
    EvidenceLaw,
    CoherenceLaw,
    BindingLaw,
    ProviderSpec,
)

shares = st.floats(0, 1)
gains = st.floats(0, 5)
sizes = st.integers(0, 10**6)

# --------------------------------------------------------------------------- rationale


@pytest.mark.unit
@pytest.mark.parametrize(
    ("occupancy", "quality", "tokens"),
    [
        (0.0, 1.0, 400),
        (0.8, 1.0, 400),  # at the knee
        (0.9, 1.0, 500),  # half of the pressure, gain 0.5: a quarter more
        (1.0, 1.0, 600),
        (1.2, 1.0, 800),  # pressure goes on past a full window
        (0.0, 0.5, 600),
        (1.0, 0.0, 1200),
    ],
)
def test_rationale_at_hand_computed_points(occupancy: float, quality: float, tokens: int) -> None:
    law = RationaleLaw(base=400, pressure_gain=0.5, quality_gain=1.0, knee=0.8)
    assert law.tokens(occupancy, quality) == tokens


@pytest.mark.property
@given(sizes, gains, gains, st.floats(0, 0.99), st.tuples(st.floats(0, 2), st.floats(0, 2)), shares, shares)
def test_rationale_grows_with_pressure_and_with_bad_decisions(
    base: int, pressure: float, gain: float, knee: float, pair: tuple[float, float], good: float, bad: float
) -> None:
    law = RationaleLaw(base, pressure, gain, knee)
    low, high = sorted(pair)
    bad, good = sorted((good, bad))
    assert base <= law.tokens(low, good) <= law.tokens(high, good) <= law.tokens(high, bad)


@pytest.mark.unit
def test_a_knee_at_the_window_has_no_pressure() -> None:
    assert RationaleLaw(base=100, pressure_gain=9, knee=1).tokens(2.0, 1.0) == 100


# --------------------------------------------------------------------------- quality


@pytest.mark.unit
def test_quality_at_hand_computed_points() -> None:
    law = QualityLaw(record_factor=0.8, cap_cost=0.5, error_gain=2.0)
    assert [law.lasting(records) for records in range(3)] == pytest.approx([1, 0.8, 0.64])
    assert law.of_one_decision(0.8, wanted=400, written=100) == pytest.approx(0.8 * (1 - 0.5 * 0.75))
    assert law.of_one_decision(0.8, wanted=400, written=400) == 0.8
    assert law.of_one_decision(0.8, wanted=0, written=0) == 0.8
    assert law.estimate_factor(0.75, normal=1.5) == pytest.approx(math.exp(2.0 * 0.25 * 1.5))
    assert law.estimate_factor(1.0, normal=1.5) == 1


@pytest.mark.property
@given(shares, shares, st.integers(0, 50), sizes, sizes, sizes)
def test_quality_never_rises_with_records_eaten_or_with_brevity(
    factor: float, cost: float, records: int, wanted: int, one: int, other: int
) -> None:
    law = QualityLaw(factor, cost)
    lasting = law.lasting(records)
    assert 0 <= law.lasting(records + 1) <= lasting <= 1
    short, long = sorted((one, other))
    brief, full = (law.of_one_decision(lasting, wanted, written) for written in (short, long))
    assert 0 <= brief <= full <= lasting


@pytest.mark.property
@given(st.floats(0, 2), shares, shares, st.floats(0, 3))
def test_estimates_stray_further_as_quality_falls(
    gain: float, one: float, other: float, normal: float
) -> None:
    law = QualityLaw(error_gain=gain)
    bad, good = sorted((one, other))
    assert 1 <= law.estimate_factor(good, normal) <= law.estimate_factor(bad, normal)
    assert law.estimate_factor(bad, -normal) == pytest.approx(1 / law.estimate_factor(bad, normal))


# --------------------------------------------------------------------------- summary


@pytest.mark.unit
def test_summary_share_at_hand_computed_points() -> None:
    law = SummaryLaw(ratio=0.2, ratio_spread=0.1, ratio_per_pass=0.3, incompressible_ratio=1.1)
    assert [law.share(passes) for passes in range(4)] == pytest.approx([0.2, 0.5, 0.8, 1.0])
    assert law.share(0, normal=2) == pytest.approx(0.4)
    assert law.share(0, normal=-9) == 0
    assert law.share(2, normal=9) == 1
    assert law.share(5, normal=9, compressible=False) == 1.1


@pytest.mark.unit
@pytest.mark.parametrize(
    ("left", "cap", "tokens"),
    [
        (80.4, None, 80),
        (10.0, None, 50),
        (900.0, None, 200),
        (900.0, 120, 120),
        (900.0, 20, 50),
        (0.0, 0, 50),
    ],
)
def test_summary_size_is_clipped(left: float, cap: int | None, tokens: int) -> None:
    assert SummaryLaw(floor=50, cap=200).tokens(left, cap) == tokens


@pytest.mark.property
@given(shares, shares, st.floats(-4, 4), st.integers(0, 9), st.booleans())
def test_what_is_left_lies_between_nothing_and_all_and_grows_with_each_pass(
    ratio: float, growth: float, normal: float, passes: int, compressible: bool
) -> None:
    law = SummaryLaw(ratio, 0.1, growth)
    now, again = (
        law.share(count, normal=normal, compressible=compressible) for count in (passes, passes + 1)
    )
    assert 0 <= now <= again <= 1


@pytest.mark.property
@given(sizes, st.none() | sizes, st.none() | sizes, st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_summary_is_monotone_in_its_source_and_within_its_limits(
    floor: int, cap: int | None, asked: int | None, one: float, other: float
) -> None:
    law = SummaryLaw(floor=floor, cap=cap)
    small, large = sorted((one, other))
    assert floor <= law.tokens(small, asked) <= law.tokens(large, asked)
    for limit in (cap, asked):
        if limit is not None:
            assert law.tokens(large, asked) <= max(floor, limit)


# --------------------------------------------------------------------------- measurement


@pytest.mark.unit
def test_measurement_at_hand_computed_points() -> None:
    assert [MeasurementLaw(share=0.1).full(count) for count in (0, 14, 16, 1000)] == [0, 1, 2, 100]
    assert MeasurementLaw(share=0.1, full_tokens=7).full(1000) == 7
    assert MeasurementLaw(share=0.1, full_tokens=0).full(1000) == 0


@pytest.mark.property
@given(shares, sizes, sizes)
def test_a_recount_writes_no_less_for_more(share: float, one: int, other: int) -> None:
    few, many = sorted((one, other))
    law = MeasurementLaw(share=share)
    assert 0 <= law.full(few) <= law.full(many) <= many


# --------------------------------------------------------------------------- all of them


@pytest.mark.property
@given(st.floats(0, 2), shares, sizes, st.integers(0, 50), st.floats(-5, 5))
def test_the_defaults_switch_a_law_off(
    occupancy: float, quality: float, count: int, records: int, normal: float
) -> None:
    neutral = Laws()
    assert neutral.rationale.tokens(occupancy, quality) == 0
    assert neutral.quality.lasting(records) == 1
    assert neutral.quality.of_one_decision(quality, count, 0) == quality
    assert neutral.quality.estimate_factor(quality, normal) == 1
    assert neutral.measurement.full(count) == neutral.measurement.delta_tokens == 0
    assert neutral.summary.share(0, normal=normal) == neutral.summary.share(records) == neutral.summary.ratio
    assert neutral.summary.share(0, compressible=False) == 1
    assert neutral.summary.tokens(float(count)) == count


@pytest.mark.contract
def test_every_law_class_is_looked_at() -> None:
    found = {made for made in vars(laws).values() if dataclasses.is_dataclass(made) and made is not Laws}
    assert found == set(PARAMETER_CLASSES) - {ProviderSpec}


@pytest.mark.contract
@pytest.mark.parametrize("law", PARAMETER_CLASSES)
def test_every_parameter_has_symbol_unit_and_source(law: type) -> None:
    documented = [field.metadata.get("parameter") for field in dataclasses.fields(law)]
    assert documented
    for field, said in zip(dataclasses.fields(law), documented, strict=True):
        assert isinstance(said, Parameter), field.name
        assert said.symbol.strip(), field.name
        assert said.unit.strip(), field.name
        assert said.source.strip(), field.name
    symbols = [said.symbol for said in documented]
    assert len(set(symbols)) == len(symbols)


@pytest.mark.contract
def test_symbols_are_unique_across_the_laws() -> None:
    symbols = [
        field.metadata["parameter"].symbol for law in PARAMETER_CLASSES for field in dataclasses.fields(law)
    ]
    assert sorted(set(symbols)) == sorted(symbols)


@pytest.mark.contract
@pytest.mark.parametrize("law", PARAMETER_CLASSES)
def test_parameters_cannot_be_changed(law: type) -> None:
    made = law()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(law)[0].name, 1)


DOCUMENTED_FIGURES = {
    *(700, 1100, 160, 480, 1580, 946, 1200),  # tokens of field record 000 and its cure
    *(24_000, 21_840, 21_720, 5_000, 17_101),  # its window, its trigger, its head
    *(290, 270, 250, 240, 230, 175, 1500),  # its spans and the sizes of the random world
    *(0.905, 0.91, 0.88, 0.94, 0.85, 0.97, 0.095, 0.45),  # its shares and fitted factors
    *(91, 94, 88, 90.5, 87.775, 93.92, 89.4),  # its percentages
}


@pytest.mark.contract
def test_no_documented_figure_stands_in_the_mechanism() -> None:
    found = []
    for path in sorted(Path(simulator.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
            if is_number and abs(node.value) in DOCUMENTED_FIGURES:
                found.append(f"{path.name}:{node.lineno} {node.value}")
    assert found == []
