"""Write pictures of the documentation anew with a palette of few greys: what is drawn stays as it is.

`python docs/shrink_image.py FILE...`; a picture of many panels is too large for the repository without.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

COLOURS = 12


def shrink(path: Path) -> None:
    """Write a PNG again with a palette."""
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        shrink(Path(name))
