"""The look of a figure: sizes, colours, the style of a policy, and the one way to a file.

In: names of policies and finished figures. Out: a colour, a dash pattern and a marker a policy that are the
same in every figure (the colour alone where a figure has it in several places), an empty `Figure` in the
house style, and bytes that depend on the data alone. The settings are in `rewritelab.mplstyle`; the colours
are those of Okabe and Ito (2008), then of Tol's "muted" scheme (2021), both made for colour-blind readers.
"""

from __future__ import annotations

import io
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

import matplotlib
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path

from experiments.files import write_atomically
from simulator.errors import InputError, nearest_name

ONE_COLUMN = 3.5
"""Width of a one-column figure, in inches."""

TWO_COLUMNS = 7.2
"""Width of a two-column figure, in inches."""

INK, MUTED, PALE = "#202020", "#606060", "#ececec"
GAIN, COST, OTHER = "#0072b2", "#d55e00", "#9a9a9a"

LEGEND_SIZE = 7.5
"""Points; the legend's size in the style file, needed to know how many entries fit in a row."""

POINTS_PER_INCH = 72.0

Value = TypeVar("Value")
Parameters = ParamSpec("Parameters")
Dashes = tuple[float, Sequence[float]] | Literal["-", "none"]


class PolicyStyle(NamedTuple):
    """How one policy is drawn: told apart by colour, and in grey by dashes and marker."""

    colour: str
    dashes: Dashes
    marker: str


NAMED_STYLES = {
    "naive": PolicyStyle("#d55e00", (0, (5, 1.6)), "s"),
    "guarded": PolicyStyle("#0072b2", "-", "o"),
    "amortised-naive": PolicyStyle("#cc79a7", (0, (1, 1.2)), "v"),
    "gate-only": PolicyStyle("#009e73", (0, (6, 1.5, 1, 1.5)), "^"),
    "hysteresis-only": PolicyStyle("#56b4e9", (0, (3, 1, 1, 1, 1, 1)), "D"),
    "static-instructions": PolicyStyle("#e69f00", (0, (2, 1)), "P"),
    "never-rewrite": PolicyStyle("#000000", (0, (1, 3)), "X"),
    "truncate-oldest": PolicyStyle("#7f7f7f", (0, (9, 2)), "<"),
}
SPARE_STYLES = (
    PolicyStyle("#332288", (0, (4, 1, 1, 1)), ">"),
    PolicyStyle("#117733", (0, (7, 3)), "p"),
    PolicyStyle("#882255", (0, (1, 2)), "*"),
    PolicyStyle("#999933", (0, (8, 2, 2, 2)), "h"),
    PolicyStyle("#44aa99", (0, (3, 3)), "d"),
    PolicyStyle("#aa4499", (0, (5, 1, 1, 1, 1, 1, 1, 1)), "H"),
    PolicyStyle("#a0785a", (0, (2, 2, 6, 2)), "8"),
    PolicyStyle("#6699cc", (0, (12, 1.5)), "o"),
)

MOST_STYLES = len(NAMED_STYLES) + len(SPARE_STYLES)
POINT_STYLE = PolicyStyle(MUTED, "-", "o")
"""Of policies or points that are too many to have a style each."""


PLACE_MARKERS, SPARE_PLACE_MARKER = ("o", "s", "^", "D", "v"), "X"
"""Markers of the places of one policy, clearly different in one colour, and the next one."""

PLACE = ", "
"""What stands between a policy and its place, where a figure has it in several."""


def policy_styles(names: Iterable[str]) -> dict[str, PolicyStyle]:
    """Return the style of each policy, the known ones always the same.

    A policy outside `NAMED_STYLES` takes the spare style that its checksum points to, or the next free
    one, so that a policy keeps its style whatever else is in the figure, unless two names collide.
    Beyond eight unknown policies spare styles repeat. Of names such as `naive, head 3,000` the words before
    the first comma are the policy: all its places have its colour, the first its whole style, and the
    others dashes and a marker of their own.

    Parameters
    ----------
    names : iterable of str
        The policies of one figure, or policies with their places.

    Examples
    --------
    >>> policy_styles(["guarded"])["guarded"] == policy_styles(["mine", "naive", "guarded"])["guarded"]
    True
    >>> {style.colour for style in policy_styles(["naive, at 1", "naive, at 2"]).values()}
    {'#d55e00'}
    """
    first: dict[str, str] = {}
    others = [
        name for name in dict.fromkeys(names) if first.setdefault(name.partition(PLACE)[0], name) != name
    ]
    of_policies = _styles_of_policies(first)
    styles = {name: of_policies[policy] for policy, name in first.items()}
    looks = [*SPARE_STYLES, *NAMED_STYLES.values()]
    of_places = {policy: {style.marker} for policy, style in of_policies.items()}
    taken = {style.dashes for style in styles.values()}
    for name in others:
        policy, _, place = name.partition(PLACE)
        start = zlib.crc32(place.encode())
        markers = [*_turned(PLACE_MARKERS, start), SPARE_PLACE_MARKER, *(look.marker for look in looks)]
        dashes = _turned([look.dashes for look in looks], start)
        styles[name] = PolicyStyle(
            of_policies[policy].colour,
            next((one for one in dashes if one not in taken), dashes[0]),
            next((one for one in markers if one not in of_places[policy]), markers[0]),
        )
        taken.add(styles[name].dashes)
        of_places[policy].add(styles[name].marker)
    return styles


def _turned(values: Sequence[Value], start: int) -> list[Value]:
    """Return values from a place on, counted around, and those before it after them."""
    place = start % len(values)
    return [*values[place:], *values[:place]]


def _styles_of_policies(policies: Iterable[str]) -> dict[str, PolicyStyle]:
    styles = {name: NAMED_STYLES[name] for name in policies if name in NAMED_STYLES}
    taken: set[int] = set()
    for name in sorted(set(policies) - set(NAMED_STYLES)):
        slot = zlib.crc32(name.encode()) % len(SPARE_STYLES)
        while slot in taken and len(taken) < len(SPARE_STYLES):
            slot = (slot + 1) % len(SPARE_STYLES)
        taken.add(slot)
        styles[name] = SPARE_STYLES[slot]
    return styles


@cache
def _house_style() -> dict[Any, Any]:
    """Return matplotlib's default settings with those of `rewritelab.mplstyle` on top."""
    with as_file(files(__package__).joinpath("rewritelab.mplstyle")) as path:
        settings = matplotlib.rc_params_from_file(path, use_default_template=True)
    return {key: value for key, value in settings.items() if not key.startswith("backend")}


LAYOUT_PASSES = 3
"""The number of ticks depends on the size of the axes, which depends on the ticks' words."""


def styled(draw: Callable[Parameters, Figure]) -> Callable[Parameters, Figure]:
    """Run `draw` in the house style and leave the settings of the process as they were.

    The parts of the figure are placed once, here: the constrained layout moves a little each time that
    it is asked, and with each format, and a figure must not depend on how often it was saved.
    """

    @wraps(draw)
    def in_style(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Figure:
        with matplotlib.rc_context(_house_style()):
            figure = draw(*args, **kwargs)
            settle(figure)
        return figure

    return in_style


GROWTH, MOST_GROWTHS = 1.25, 8
"""How much higher a figure is made at a time whose parts leave no room for the data, and how often."""


def lay_out(figure: Figure) -> None:
    """Place the parts of a figure, and make it higher where its words leave no room for the data."""
    with warnings.catch_warnings():
        for growth in range(MOST_GROWTHS + 1):
            # The last time it is taken as it comes: words that are wider than the page are none the better.
            action: Literal["error", "ignore"] = "error" if growth < MOST_GROWTHS else "ignore"
            warnings.filterwarnings(action, message="constrained_layout not applied")
            try:
                figure.draw_without_rendering()
            except UserWarning:
                figure.set_figheight(GROWTH * figure.get_figheight())
            else:
                return


def settle(figure: Figure) -> None:
    """Give the parts of a figure their places for good; a figure that has been settled is left as it is."""
    if not isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        return
    for axes in figure.axes:
        # Otherwise matplotlib counts ticks by the settings at the time of saving.
        axes.tick_params(labelsize=matplotlib.rcParams["xtick.labelsize"])
    for _ in range(LAYOUT_PASSES):
        lay_out(figure)
    figure.set_layout_engine("none")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of `width` x `height` inches whose parts make room for one another."""
    return Figure(figsize=(width, height), layout=house_layout())


def house_layout() -> ConstrainedLayoutEngine:
    """Return what places the parts of a figure."""
    return ConstrainedLayoutEngine(w_pad=0.04, h_pad=0.04, wspace=0.03, hspace=0.03)


def text_inches(text: str, size: float, *, weight: str = "normal") -> float:
    """Return the width of one line of `text`, in inches, at a font size in points.

    >>> 0.3 < text_inches("naive", 8) < 0.4
    True
    """
    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / POINTS_PER_INCH


def wrapped(text: str, inches: float, size: float, *, weight: str = "normal") -> str:
    r"""Break `text` at spaces, hyphens and underscores into lines of at most `inches`.

    A word that is longer stands in a line of its own.

    >>> wrapped("share of refused attempts", 0.9, 8), wrapped("commits_without_gain", 0.5, 7)
    ('share of\nrefused\nattempts', 'commits_\nwithout_\ngain')
    """
    lines = [""]
    for piece in pieces_of(text):
        if lines[-1] and text_inches((lines[-1] + piece).rstrip(), size, weight=weight) > inches:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def pieces_of(text: str) -> list[str]:
    """Return the parts of `text` between which a line may end.

    >>> pieces_of("share_own selected")
    ['share_', 'own ', 'selected']
    """
    return re.findall(r"[^\s_-]*[\s_-]+|[^\s_-]+$", text) or [text]


def legend_above(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put one legend above the axes, outside of the data, in as many columns as the width takes."""
    widths = [text_inches(str(handle.get_label()), LEGEND_SIZE) + HANDLE_INCHES for handle in handles]
    columns = next(
        count
        for count in range(len(widths), 0, -1)
        if count == 1 or _legend_inches(widths, count) <= figure.get_figwidth() - 0.1
    )
    rows = -(-len(widths) // columns)
    level = -(-len(widths) // rows)  # as many rows in fewer columns, if they are not wider
    if _legend_inches(widths, level) <= figure.get_figwidth() - 0.1:
        columns = level
    figure.legend(handles=list(handles), loc="outside upper left", ncols=columns)


HANDLE_INCHES = 0.54
"""Width of a legend's handle with its padding and the gap to the next column, by the style file."""


def _legend_inches(widths: Sequence[float], columns: int) -> float:
    """Return the width of a legend that fills `columns` columns from top to bottom, as matplotlib does."""
    rows, longer = divmod(len(widths), columns)
    total, first = 0.0, 0
    for column in range(columns):
        count = rows + (column < longer)
        total += max(widths[first : first + count])
        first += count
    return total


METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What a file says about itself: nothing that depends on the moment or the machine."""


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG, SVG or PDF, whole or not at all.

    The same data give the same bytes under the same version of matplotlib.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : path
        Its suffix says the format: ``.png``, ``.svg`` or ``.pdf``.

    Returns
    -------
    pathlib.Path
        Where the file is.

    Raises
    ------
    InputError
        If the suffix is unknown, or the folder refuses the file; it is made where it is missing.
    """
    target = Path(path)
    write_atomically(target, figure_bytes(figure, figure_format(target)))
    return target


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Return a figure as the bytes of a file of one kind: png, svg or pdf."""
    content = io.BytesIO()
    with matplotlib.rc_context(_house_style()):
        figure.savefig(content, format=kind, metadata=METADATA[kind])
    return content.getvalue()


def figure_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a figure's path asks for. Raises InputError for one that is not written."""
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise InputError(
            f"cannot write a figure as {target.suffix!r}" if target.suffix else "has no suffix",
            where=str(target),
            expected=".png, .svg or .pdf",
            nearest=nearest_name(target.suffix.lower(), [f".{known}" for known in METADATA]),
        )
    return kind
