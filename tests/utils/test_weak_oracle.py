"""Dictionaries of weak keys do what PyTorch's do."""

import copy
import gc
import importlib

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


class Key:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


def story(library):
    weak = importlib.import_module(f"{library.__name__}.utils.weak")
    keys = [Key() for _ in range(4)] + [library.ones(2), library.ones(2)]
    place = lambda key: next(number for number, each in enumerate(keys) if each is key)
    first = weak.WeakIdKeyDictionary({}, weak.WeakIdRef)
    for number, key in enumerate(keys):
        first[key] = [number]
    told = [
        len(first),
        keys[0] in first,
        Key() in first,
        3 in first,
        first.get(Key(), "none"),
        first[keys[4]],
        first.pop(keys[5]),
    ]
    told += [sorted(map(place, first)), sorted(first.values()), len(first.keyrefs()), len(list(first.keys()))]
    second = first | weak.WeakTensorKeyDictionary([(keys[5], "five")])
    told += [
        len(second),
        second == first,
        first == first.copy(),
        first == 3,
        isinstance(second, weak.WeakIdKeyDictionary),
    ]
    deep, shallow = copy.deepcopy(first), copy.copy(first)
    told += [
        deep[keys[0]] is first[keys[0]],
        shallow[keys[0]] is first[keys[0]],
        first.setdefault(keys[5], "set"),
        first[keys[5]],
    ]
    first |= {keys[0]: "new"}
    told += [first[keys[0]], ({} | first) == first, repr(first).partition(" at ")[0]]
    key, value = second.popitem()
    told += [place(key), value]
    del first[keys[1]], key
    for call in (
        lambda: first[keys[1]],
        lambda: first.pop(keys[1]),
        lambda: first.pop(keys[1], 7),
        lambda: weak.TensorWeakRef(3),
    ):
        try:
            told.append(call())
        except (KeyError, AssertionError) as error:
            told.append(type(error).__name__)
    reference, tensor = weak.TensorWeakRef(keys[4]), weak.WeakIdRef(keys[4])
    told += [reference() is keys[4], tensor == weak.WeakIdRef(keys[4]), tensor == weak.WeakIdRef(keys[5])]
    for key in first:
        if key is keys[2]:
            keys[2] = None
    del key
    del keys[4:]
    gc.collect()
    return [*told, len(first), len(list(first.items())), reference(), tensor() is None]


def test_dictionaries():
    assert story(rushlight) == story(torch)
