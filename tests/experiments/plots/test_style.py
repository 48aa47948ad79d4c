"""Styles: a policy has its colour at all its places, and a figure the height that its words need."""

from __future__ import annotations

import itertools

import pytest

from experiments.plots.marks import noted
from experiments.plots.style import lay_out, new_figure, policy_styles, styled

pytestmark = pytest.mark.unit

PLACES = ("head 3,000", "head 4,000", "head 5,000")


def test_a_policy_has_its_colour_at_all_its_places() -> None:
    policies = ("naive", "guarded", "mine")
    alone = policy_styles(policies)
    styles = policy_styles(f"{policy}, {place}" for place, policy in itertools.product(PLACES, policies))
    for policy, place in itertools.product(policies, PLACES):
        assert styles[f"{policy}, {place}"].colour == alone[policy].colour
    assert all(styles[f"{policy}, {PLACES[0]}"] == alone[policy] for policy in policies)


def test_places_of_policies_are_told_apart_in_grey() -> None:
    names = [
        f"{policy}, {place}" for policy, place in itertools.product(("naive", "guarded", "mine"), PLACES)
    ]
    looks = {(style.dashes, style.marker) for style in policy_styles(names).values()}
    assert len(looks) == len(names)


def test_a_figure_without_room_for_its_data_grows() -> None:
    figure = new_figure(3.0, 0.5)
    figure.add_subplot().set_title("three\nlines of\nwords")
    lay_out(figure)
    assert figure.get_figheight() > 0.5
    assert figure.axes[0].get_window_extent().height > 0


def test_a_note_makes_a_finished_figure_higher_and_leaves_its_data_their_room() -> None:
    @styled
    def drawn() -> object:
        figure = new_figure(3.0, 2.0)
        figure.add_subplot().plot([1, 2], [3, 4])
        return figure

    bare, with_note = drawn(), noted(drawn(), "a note of a few words " * 8)  # type: ignore[arg-type]
    assert with_note.get_figheight() > bare.get_figheight()  # type: ignore[attr-defined]
    heights = [figure.axes[0].get_window_extent().height for figure in (bare, with_note)]  # type: ignore[attr-defined]
    assert heights[1] == pytest.approx(heights[0], rel=0.1)
    twice = noted(with_note, "and more")
    assert twice.get_supxlabel().splitlines()[-1] == "and more"


def test_places_of_one_policy_have_clearly_different_marks() -> None:
    for policy in ("naive", "guarded", "gate-only", "mine"):
        styles = policy_styles(f"{policy}, cap {cap}" for cap in range(100, 500, 100))
        first, *others = [style.marker for style in styles.values()]
        assert len({first, *others}) == 4
        assert set(others) <= {"o", "s", "^", "D", "v"}
