"""Optional packages: the extras that install them, and the hint if one is missing."""

from __future__ import annotations

_EXTRA_OF = {
    "torch": "train",
    "stable_baselines3": "train",
    "sb3_contrib": "train",
    "tensorboard": "train",
    "matplotlib": "plots",
    "textual": "play",
    "PIL": "pictures",
    "resvg_py": "pictures",
    "ray": "ray",
}
"""The extra that installs each optional package, by the package's import name."""


def what_is_missing(error: ModuleNotFoundError) -> str:
    """Returns a hint that names the missing package and its extra.

    Args:
        error: The error of an import, whose own message does not name the extra.

    Returns:
        Text such as ``needs torch: pip install -e ".[train]" in the clone``, to append to the name
        of the feature that needs it; "" if no extra installs the package.
    """
    package = (error.name or "").partition(".")[0]
    extra = _EXTRA_OF.get(package)
    return f'needs {package}: pip install -e ".[{extra}]" in the clone' if extra else ""
