"""Writes src/rushlight/ops/contents.py, by which the op table imports its modules: ``python tools/write_contents.py``."""

import importlib
import pkgutil
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "src" / "rushlight" / "ops" / "contents.py"
HEAD = '''\
"""What the op table holds, so that `import rushlight` need not read it whole: records import their modules when first asked for.

By modules: the names of operations and of composites, each with the places where it is public and whether it has an in-place
form, and the names of functions of lists. Written by tools/write_contents.py from the records themselves.
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

    def described(entry):
        places = "BOTH" if tuple(entry.names) == BOTH else repr(tuple(entry.names))
        return f"({places}, {bool(entry.inplace)})"

    lines = [HEAD]
    for title, records in ("OPERATIONS", TABLE), ("COMPOSITES", COMPOSITES):
        found: dict[str, list[str]] = {}
        for name, entry in sorted(dict.items(records)):
            found.setdefault(entry.__wrapped__.__module__, []).append(f"        {name!r}: {described(entry)},")
        lines.append(_grouped(title, found))
    found = {}
    for name, (function, _) in sorted(dict.items(INPLACE_LISTS)):
        found.setdefault(function.__module__, []).append(f"        {name!r}: (),")
    lines.append(_grouped("INPLACE_LISTS", found))
    return "\n".join(lines).replace("'", '"')


def _grouped(title, found):
    """A dict of dicts: what each module holds."""
    blocks = [f'    "{module}": {{\n' + "\n".join(rows) + "\n    }," for module, rows in sorted(found.items())]
    return f"{title} = {{\n" + "\n".join(blocks) + "\n}\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    PAGE.write_text(contents(), encoding="utf-8")
