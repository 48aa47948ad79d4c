"""Names made of parts, cut so that none of their parts is gone.

In: a name such as `guarded, constant-arrivals, cap 100`: a policy, its scenario and its levels. Out: the same
with each part cut on its own, for what tells two such names apart may stand in the middle of them.
"""

from __future__ import annotations

from experiments.plots.marks import fitted
from experiments.plots.style import PLACE, text_inches


def cut_by_parts(name: str, inches: float, size: float) -> str:
    """Return a name that takes at most so many inches in a line at a font size in points.

    >>> cut_by_parts("guarded, cap 100", 2.0, 7.5)
    'guarded, cap 100'
    >>> cut_by_parts(f"guarded, {'long ' * 20}100", 2.0, 7.5)
    'guarded, long long long lon…long 100'
    """
    if text_inches(name, size) <= inches:
        return name
    left = name.split(PLACE)
    widths = {place: text_inches(part, size) for place, part in enumerate(left)}
    room = inches - text_inches(PLACE, size) * (len(left) - 1)
    for done, place in enumerate(sorted(widths, key=lambda place: widths[place])):  # the short ones whole
        share = room / (len(left) - done)
        left[place] = fitted(left[place], share, size, lines=1)
        room -= text_inches(left[place], size)
    return PLACE.join(left)
