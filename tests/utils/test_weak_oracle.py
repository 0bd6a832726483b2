"""``torch.utils.weak`` against PyTorch's."""

import copy
import gc
import importlib

import pytest

import rushlight
from rushlight.utils import weak

torch = pytest.importorskip("torch")
importlib.import_module("torch.utils.weak")

CASES = """
table[x]
table[y]
[y in table, x in table, 3 in table, len(table), bool(table)]
[key is x for key in table]
list(table.values())
table.get(y, 5)
table.pop(x), len(table)
table.setdefault(y, 2), len(table)
table == {x: 1}, table == {y: 1}, table == 3
sorted((table | {y: 2}).values()), len(table)
sorted(({y: 2} | table).values())
len(table.copy()), len(copy.copy(table)), len(copy.deepcopy(table))
table.__ior__({y: 2})[y]
[reference() is x for reference in table.keyrefs()]
table.popitem()[1]
(table.__setitem__(y, 2), table.popitem()[1], len(table))
table.__setitem__(3, 1)
hash(table)
weak.WeakIdRef(x) == weak.WeakIdRef(x), weak.WeakIdRef(x) == weak.WeakIdRef(y)
hash(weak.WeakIdRef(x)) == id(x)
weak.TensorWeakRef(x)() is x
weak.TensorWeakRef(3)
weak.WeakTensorKeyDictionary({x: 1, y: 2})[y]
""".strip().split("\n")


def outcome(library, case):
    module = importlib.import_module(f"{library.__name__}.utils.weak")
    x, y = library.ones(2), library.ones(2)
    table = module.WeakIdKeyDictionary()
    table[x] = 1
    try:
        return eval(case, {"weak": module, "x": x, "y": y, "table": table, "copy": copy})
    except Exception as error:
        return type(error).__name__ if isinstance(error, KeyError) else (type(error).__name__, str(error))


@pytest.mark.parametrize("case", CASES)
def test_dictionaries(case):
    assert outcome(torch, case) == outcome(rushlight, case)


def test_entries_go_with_their_keys():
    table = weak.WeakIdKeyDictionary()
    kept = rushlight.ones(1)
    table[kept], table[rushlight.ones(2)] = 1, 2
    gc.collect()
    assert list(table.values()) == [1]
    reference = weak.TensorWeakRef(kept)
    del kept
    gc.collect()
    assert len(table) == 0 and reference() is None
