"""An SVG picture as pixels, with resvg and Pillow: the extra ``pictures``.

The pictures have fonts of their own, so a frame has the same pixels on every machine. Names in
other scripts use the machine's fonts.
"""

# resvg and Pillow are imported only on request.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.errors import OhHellError
from ohhell_env.extras import what_is_missing

FONTS = Path(__file__).parent / "fonts"


def pixels(svg: str, width: int | None = None) -> NDArray[np.uint8]:
    """Returns a picture as pixels, uint8 (height, width, 3).

    Args:
        svg: The picture.
        width: In pixels; None: the picture's own.

    Raises:
        OhHellError: The extra is not installed.
    """
    image = _opened(png(svg, width))
    return np.asarray(image.convert("RGB"), np.uint8).copy()


def png(svg: str, width: int | None = None) -> bytes:
    """Returns a picture as a PNG file; arguments and errors as in ``pixels``."""
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    plain = all(ord(letter) < 0x2FF or letter in _HAS for letter in svg)
    return bytes(
        svg_to_bytes(
            svg_string=svg,
            width=width,
            background="#ffffff",
            skip_system_fonts=plain,
            font_dirs=[str(FONTS)],
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
        )
    )


_HAS = "–—‘’“”…−♠♡♢♣♤♥♦♧"
"""Characters beyond Latin 1 in the pictures' own fonts."""


def _opened(data: bytes) -> Any:
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    return Image.open(io.BytesIO(data))


def _missing(error: ModuleNotFoundError) -> OhHellError:
    return OhHellError(
        f"a picture as pixels (render_mode='rgb_array') {what_is_missing(error)}; "
        'render_mode="ansi" needs nothing'
    )
