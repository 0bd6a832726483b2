"""Writes src/rushlight/ops/contents.py, by which the op table imports its modules: ``python tools/write_contents.py``."""

import importlib
import pkgutil
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "src" / "rushlight" / "ops" / "contents.py"
HEAD = '''\
"""What the op table holds, so that `import rushlight` need not read it whole: records import their modules when first asked for.

By modules: the names of operations and of composites, those together that are public at the same places and have or have not an
in-place form, and the names of functions of lists. Written by tools/write_contents.py from the records themselves.
"""

# fmt: off
BOTH = ("torch", "Tensor")
'''


def modules():
    """The names of all modules of the room."""
    room = ROOT / "src" / "rushlight" / "ops"
    return sorted(module.name for module in pkgutil.walk_packages([str(room)], "rushlight.ops."))


def contents():
    """The text of the module, read from the records that the modules write."""
    for name in modules():
        importlib.import_module(name)
    from rushlight.ops.table import BOTH, COMPOSITES, INPLACE_LISTS, TABLE

    found: dict[str, dict] = {}
    for title, records in ("OPERATIONS", TABLE), ("COMPOSITES", COMPOSITES), ("INPLACE_LISTS", INPLACE_LISTS):
        for name, entry in sorted(dict.items(records)):
            if records is INPLACE_LISTS:
                module, kind = entry[0].__module__, "((), False)"
            else:
                places = "BOTH" if tuple(entry.names) == BOTH else repr(tuple(entry.names))
                module, kind = entry.__wrapped__.__module__, f"({places}, {bool(entry.inplace)})"
            found.setdefault(title, {}).setdefault(module, {}).setdefault(kind, []).append(name)
    return "\n".join([HEAD, *(_part(title, modules) for title, modules in found.items())]).replace("'", '"')


def _part(title, modules):
    """A dictionary of modules, each with a dictionary from places and form to names."""
    lines = [f"{title} = {{"]
    for module, kinds in sorted(modules.items()):
        lines.append(f'    "{module}": {{')
        for kind, names in kinds.items():
            rows = textwrap.wrap(" ".join(names), 116, break_on_hyphens=False)
            head, tail = f"        {kind}: ", ","
            if len(rows) > 1 or len(head) + len(rows[0]) > 116:
                head, tail = head + '"""', '""",'
                lines += [head, *rows[:-1], rows[-1] + tail]
            else:
                lines.append(f'{head}"{rows[0]}"{tail}')
        lines.append("    },")
    return "\n".join([*lines, "}\n"])


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    PAGE.write_text(contents(), encoding="utf-8")
