"""Reading YAML that a user wrote: plain data only, each key once, every mistake a RulesError."""

from __future__ import annotations

from typing import Any

import yaml

from ohhell_env.errors import RulesError, shown


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, which makes plain data only, and refuses a key that stands twice."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Returns a mapping as it is written; raises where a key stands twice."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen and name != "<<":
                raise RulesError(
                    f"the key {shown(name)} stands twice in one place; keep one of them"
                )
            seen.add(name)
        return node


def read_yaml(text: str) -> Any:
    """Returns the plain data of a YAML text; runs nothing that the text may name.

    Raises:
        RulesError: The text is no YAML, is nested too deep, or has a key twice in one place.
    """
    try:
        return yaml.load(text, _Loader)
    except RulesError:
        raise
    except RecursionError:
        raise RulesError("it is nested too deep") from None
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise RulesError(" ".join(str(error).split())[:300]) from None
