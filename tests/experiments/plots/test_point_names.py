"""Names of points: a spare one is written where there is room at its point, and nowhere else."""

from __future__ import annotations

import matplotlib
import pytest
from matplotlib.axes import Axes

from experiments.plots.point_names import name_points, number_words
from experiments.plots.style import new_figure

pytestmark = pytest.mark.unit


def axes_of(width: float) -> Axes:
    with matplotlib.rc_context():
        axes = new_figure(width, 2.0).add_subplot()
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 10)
    return axes


def test_a_spare_name_is_left_out_in_a_crowd() -> None:
    axes = axes_of(4.0)
    crowd = [(5 + 0.05 * place, 5.0) for place in range(12)]
    name_points(axes, [(1.0, 1.0), *crowd], ["needed"], [str(place) for place in range(12)])
    written = [text.get_text() for text in axes.texts]
    assert written[0] == "needed"
    assert 1 < len(written) < 13


def test_a_name_stands_off_the_lines() -> None:
    axes = axes_of(4.0)
    beam = [[(5.0, 0.0), (5.0, 10.0)], [(10.0, 4.9), (0.0, 4.9)]]
    for line in beam:
        axes.plot(*zip(*line, strict=True))
    name_points(axes, [(5.0, 5.0)], ["a name"], lines=beam)
    box = axes.texts[0].get_window_extent().transformed(axes.transData.inverted())
    assert not box.x0 < 5.0 < box.x1
    assert not box.y0 < 4.9 < box.y1


def test_without_a_free_place_a_name_that_must_not_be_written_is_not() -> None:
    full = [[(0.0, level / 4), (10.0, level / 4)] for level in range(41)]
    for must, count in ((True, 1), (False, 0)):
        axes = axes_of(3.0)
        name_points(axes, [(5.0, 5.0)], ["a name"], lines=full, must=must)
        assert len(axes.texts) == count


def test_numbers_of_equal_points_are_runs() -> None:
    assert number_words([2, 1, 3, 9]) == "1\N{EN DASH}3, 9"
    assert number_words([1, 3, 5, 7, 9]) == "1, 3, 5, +2"
