"""Names or numbers beside points, where they cover neither one another nor a point, and the key of numbers.

In: axes with everything else drawn, and places in data units. Out: annotations, and a legend beneath. Each
name in turn takes the first of a few places around its point that is free (Christensen, Marks and Shieber
1995 call this the greedy method), off the cross that the point's intervals make.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from experiments.plots.marks import fitted, make_room
from experiments.plots.place_names import cut_by_parts
from experiments.plots.style import INK, MUTED, PLACE, POINTS_PER_INCH, settle, text_inches, wrapped
from experiments.plots.tables import DASH

SIZE, LINE_HEIGHT, LEADING, SIDE_ROOM = 7.0, 8.75, 1.0, 1.5
"""Of the words, of a line of them, what of it is empty, and what stays empty left and right; points."""

MARK_ROOM = 3.5
"""Points around the middle of a mark where no name may stand."""

LINE_ROOM = 1.0
"""Points on each side of a line where no name may stand."""

KEY_INCHES, KEY_PARTS_INCHES, KEY_GAP_INCHES = 2.1, 3.3, 0.2
"""Most width of an entry of a key, of one of several parts, and what stays empty beside it."""

MOST_RUNS = 3
"""Runs of numbers that are written at a point."""

STROKE = withStroke(linewidth=1.5, foreground="white")
DIRECTIONS = ((1, 1), (-1, -1), (1, -1), (-1, 1), (1, 0), (-1, 0), (0, 1), (0, -1))
DISTANCES = (3.5, 8.0, 15.0, 24.0, 35.0)
"""Where a name may stand, seen from its point: directions first, then farther away (points)."""

NEAR = 2
"""So many distances a name may stand away that can be left out: a longer line would cross other points."""

WIDEST_SHARE = 0.3
"""Of the axes, for a line of a name."""


def name_points(
    axes: Axes,
    places: Sequence[tuple[float, float]],
    names: Sequence[str],
    spare: Sequence[str] = (),
    lines: Sequence[Sequence[tuple[float, float]]] = (),
    *,
    must: bool = True,
) -> None:
    """Write a name beside each of the first points.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        With everything else drawn and its limits set: the parts of its figure have their places from here on.
    places : sequence of (float, float)
        All marks, in data units; those with a name first, then those with a spare one.
    names : sequence of str
        At most as many as places. A name that stands far from its point is joined to it by a line.
    spare : sequence of str
        Names that are written in grey, and only where there is a free place at their point.
    lines : sequence of sequences of (float, float)
        Lines along the axes, corner by corner in data units, on which no name is to stand.
    must : bool
        Whether a name that finds no free place stands where it covers least, or is left out.
    """
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    settle(figure)  # only now it is known how many points a unit takes
    scale = POINTS_PER_INCH / figure.dpi
    frame = Bbox(axes.bbox.get_points() * scale)

    def in_points(found: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(float(x) * scale, float(y) * scale) for x, y in map(axes.transData.transform, found)]

    marks = in_points(places)
    taken = [Bbox.from_bounds(x, y, 0, 0).padded(MARK_ROOM).extents for x, y in marks]
    for corners in map(in_points, lines):
        for (x, y), (then_x, then_y) in itertools.pairwise(corners):
            line = Bbox.from_extents(min(x, then_x), min(y, then_y), max(x, then_x), max(y, then_y))
            taken.append(line.padded(LINE_ROOM).extents)
    words = [*names, *spare]
    for order, ((x, y), place, name) in enumerate(zip(marks, places, words, strict=False)):
        needed = order < len(names)
        written = fitted(name, WIDEST_SHARE * frame.width / POINTS_PER_INCH, SIZE)
        parts = written.split("\n")
        width = POINTS_PER_INCH * max(text_inches(part, SIZE) for part in parts) + 2 * SIDE_ROOM
        size = (width, LINE_HEIGHT * len(parts) - LEADING)
        distances = DISTANCES[: (None if must else NEAR) if needed else 1]
        boxes = [
            (distance, _box_beside((x, y), size, direction, distance))
            for distance, direction in itertools.product(distances, DIRECTIONS)
        ]
        ranks = [(_covered(box, frame, taken), _is_astray(box, order, marks)) for _, box in boxes]
        best = min(ranks)
        if best > ((0.0, False) if not needed else (math.inf if must else 0.0, True)):
            continue
        distance, box = boxes[ranks.index(best)]
        taken.append(box.extents)
        leader = {"arrowstyle": "-", "color": MUTED, "lw": 0.5, "shrinkB": MARK_ROOM}
        axes.annotate(
            written,
            place,
            xytext=((box.x0 + box.x1) / 2 - x, (box.y0 + box.y1) / 2 - y),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SIZE,
            color=INK if needed else MUTED,
            zorder=4,
            path_effects=[STROKE],
            arrowprops=leader if distance > DISTANCES[0] else None,
        ).set_in_layout(False)


def number_words(numbers: Sequence[int]) -> str:
    """Return the numbers of points that lie on one another, in words; of many, how many more there are.

    >>> number_words([3]), number_words([1, 3, 4, 7]), number_words([1, 3, 5, 7, 8])
    ('3', '1, 3\N{EN DASH}4, 7', '1, 3, 5, +2')
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown, rest = runs[:MOST_RUNS], sum(map(len, runs[MOST_RUNS:]))
    words = [str(run[0]) if len(run) == 1 else f"{run[0]}{DASH}{run[-1]}" for run in shown]
    return ", ".join([*words, *([f"+{rest}"] if rest else [])])


def key_beneath(figure: Figure, strong: Sequence[str], weak: Sequence[str], head: str = "") -> None:
    """Write a key in columns under everything else, its weak entries in grey, and make the figure higher."""
    entries = [
        cut_by_parts(words, KEY_PARTS_INCHES if PLACE in words else KEY_INCHES, SIZE)
        for words in (*strong, *weak)
    ]
    width = max(text_inches(words, SIZE) for words in entries) + KEY_GAP_INCHES
    legend = figure.legend(
        handles=[Line2D([], [], linestyle="none", label=words) for words in entries],
        loc="outside lower left",
        ncols=min(len(entries), max(1, int(figure.get_figwidth() / width))),
        fontsize=SIZE,
        handlelength=0,
        handletextpad=0,
        labelspacing=0.25,
        columnspacing=POINTS_PER_INCH * KEY_GAP_INCHES / SIZE / 2,
        title=wrapped(head, figure.get_figwidth() - 0.2, SIZE) or None,
        title_fontproperties={"size": SIZE},
        alignment="left",
    )
    legend.get_title().set_color(MUTED)
    for place, text in enumerate(legend.get_texts()):
        text.set_color(INK if place < len(strong) else MUTED)
    make_room(figure, legend)


def _box_beside(
    mark: tuple[float, float], size: tuple[float, float], direction: tuple[int, int], distance: float
) -> Bbox:
    """Return a box of this size that is so far from the mark along the axes that it leaves it on; points."""
    (x, y), (width, height), (right, up) = mark, size, direction
    left = x - width / 2 + right * (distance + width / 2)
    bottom = y - height / 2 + up * (distance + height / 2)
    return Bbox.from_bounds(left, bottom, width, height)


def _is_astray(box: Bbox, own: int, marks: Sequence[tuple[float, float]]) -> bool:
    """Return whether another mark lies as near to a box as its own one; points."""
    at = np.array(marks)
    away = np.hypot(*np.clip(np.maximum(box.min - at, at - box.max), 0.0, None).T)
    return bool((np.delete(away, own) <= away[own]).any())


def _covered(box: Bbox, frame: Bbox, taken: Sequence[tuple[float, float, float, float]]) -> float:
    """Return how much of a box lies out of the frame or on what is taken, in square points."""
    others = np.stack([frame.extents, *taken])
    lower = np.maximum(others[:, :2], box.extents[:2])
    upper = np.minimum(others[:, 2:], box.extents[2:])
    inside, *shared = np.clip(upper - lower, 0.0, None).prod(axis=1).tolist()
    return float(round(box.width * box.height - inside + sum(shared), 3))
