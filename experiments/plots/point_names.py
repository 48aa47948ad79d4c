"""Names beside points, where they cover neither one another nor a point.

In: axes with everything else drawn, and places in data units. Out: annotations. Each name in turn takes
the first of a few places around its point that is free (Christensen, Marks and Shieber 1995 call this
the greedy method), off the cross that the point's intervals make.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from experiments.plots.marks import fitted
from experiments.plots.style import INK, MUTED, POINTS_PER_INCH, text_inches

SIZE, LINE_HEIGHT, SIDE_ROOM = 7.0, 8.75, 3.0
"""Of the words, of a line of them, and what stays empty left and right of them; points."""

MARK_ROOM = 4.0
"""Points around the middle of a mark where no name may stand."""

STROKE = withStroke(linewidth=2.0, foreground="white")
DIRECTIONS = ((1, 1), (-1, -1), (1, -1), (-1, 1), (1, 0), (-1, 0), (0, 1), (0, -1))
DISTANCES = (5.0, 10.0, 17.0, 25.0, 35.0)
"""Where a name may stand, seen from its point: directions first, then farther away (points)."""

WIDEST_SHARE = 0.3
"""Of the axes, for a line of a name."""


def name_points(axes: Axes, places: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write a name beside each of the first points.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        With everything else drawn and its limits set.
    places : sequence of (float, float)
        All marks, in data units; those with a name first.
    names : sequence of str
        At most as many as places. A name that stands far from its point is joined to it by a line; one
        that finds no free place stands where it covers least.
    """
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()  # only now it is known how many points a unit takes
    scale = POINTS_PER_INCH / figure.dpi
    frame = Bbox(axes.bbox.get_points() * scale)
    marks = [tuple(float(at) * scale for at in axes.transData.transform(place)) for place in places]
    taken = [Bbox.from_bounds(x, y, 0, 0).padded(MARK_ROOM).extents for x, y in marks]
    for (x, y), place, name in zip(marks, places, names, strict=False):
        words = fitted(name, WIDEST_SHARE * frame.width / POINTS_PER_INCH, SIZE)
        lines = words.split("\n")
        width = POINTS_PER_INCH * max(text_inches(line, SIZE) for line in lines) + 2 * SIDE_ROOM
        size = (width, LINE_HEIGHT * len(lines))
        boxes = [
            (distance, _box_beside((x, y), size, direction, distance))
            for distance, direction in itertools.product(DISTANCES, DIRECTIONS)
        ]
        distance, box = min(boxes, key=lambda found: _covered(found[1], frame, taken))
        taken.append(box.extents)
        line = {"arrowstyle": "-", "color": MUTED, "lw": 0.5, "shrinkB": MARK_ROOM}
        axes.annotate(
            words,
            place,
            xytext=((box.x0 + box.x1) / 2 - x, (box.y0 + box.y1) / 2 - y),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SIZE,
            color=INK,
            zorder=4,
            path_effects=[STROKE],
            arrowprops=line if distance > DISTANCES[0] else None,
        ).set_in_layout(False)


def _box_beside(
    mark: tuple[float, float], size: tuple[float, float], direction: tuple[int, int], distance: float
) -> Bbox:
    """Return a box of this size that is so far from the mark along the axes that it leaves it on; points."""
    (x, y), (width, height), (right, up) = mark, size, direction
    left = x - width / 2 + right * (distance + width / 2)
    bottom = y - height / 2 + up * (distance + height / 2)
    return Bbox.from_bounds(left, bottom, width, height)


def _covered(box: Bbox, frame: Bbox, taken: Sequence[tuple[float, float, float, float]]) -> float:
    """Return how much of a box lies out of the frame or on what is taken, in square points."""
    others = np.stack([frame.extents, *taken])
    lower = np.maximum(others[:, :2], box.extents[:2])
    upper = np.minimum(others[:, 2:], box.extents[2:])
    inside, *shared = np.clip(upper - lower, 0.0, None).prod(axis=1).tolist()
    return float(round(box.width * box.height - inside + sum(shared), 3))
