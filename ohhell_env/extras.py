"""Optional packages: which extra installs what, and what to say where one is missing."""

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
"""Optional packages by the name that Python imports, and the extra of ours that brings each."""


def what_is_missing(error: ModuleNotFoundError) -> str:
    """Returns what is needed and how to install it, or nothing if it is no package of an extra.

    Args:
        error: Of an import. Its message would not say which extra to install.

    Returns:
        ``needs torch: pip install -e ".[train]" in the clone``, to be put behind what needs it.
    """
    package = (error.name or "").partition(".")[0]
    extra = _EXTRA_OF.get(package)
    return f'needs {package}: pip install -e ".[{extra}]" in the clone' if extra else ""
