"""Reads YAML from users: plain data only, each key once, every mistake a RulesError."""

from __future__ import annotations

from typing import Any

import yaml

from ohhell_env.errors import RulesError, shown


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, which creates only plain data; refuses duplicate keys."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Composes a mapping; raises RulesError if it has a key twice."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen and name != "<<":
                raise RulesError(f"duplicate key {shown(name)}; keep one of them")
            seen.add(name)
        return node


def read_yaml(text: str) -> Any:
    """Returns the plain data of a YAML text; never runs code from it.

    Raises:
        RulesError: The text is not YAML, is nested too deeply, or has a duplicate key.
    """
    try:
        return yaml.load(text, _Loader)
    except RulesError:
        raise
    except RecursionError:
        raise RulesError("it is nested too deeply") from None
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise RulesError(" ".join(str(error).split())[:300]) from None
