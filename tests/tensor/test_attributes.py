"""What a tensor shows as its ``__dict__``."""

import copy
import pickle

import rushlight as rl
from rushlight import nn


def test_dict_shows_the_users_attributes_alone():
    tensor = nn.Parameter(rl.ones(2))
    tensor.note = "mine"
    vars(tensor)["other"] = 2
    assert vars(tensor) == {"note": "mine", "other": 2} and tensor.other == 2
    vars(tensor).pop("note")
    assert not hasattr(tensor, "note") and tensor.tolist() == [1, 1]


class Described:
    """A class of its own kind, as libraries mix into their tensors."""

    def take(self, other):
        vars(self).update(vars(other))


class Mixed(Described, rl.Tensor):
    pass


def test_dict_of_classes_with_another_base():
    tensor, other = rl.ones(2).as_subclass(Mixed), rl.zeros(3).as_subclass(Mixed)
    other.note = "mine"
    tensor.take(other)
    assert vars(tensor) == {"note": "mine"} and tensor.tolist() == [1, 1]


def test_dict_can_be_replaced():
    tensor = rl.ones(2)
    tensor.note = "mine"
    tensor.__dict__ = {"other": 2}
    assert vars(tensor) == {"other": 2} and tensor.tolist() == [1, 1] and not hasattr(tensor, "note")
    tensor.__dict__ |= {"more": 3}
    assert tensor.more == 3
    vars(tensor).clear()
    assert vars(tensor) == {} and tensor.tolist() == [1, 1]


def test_copies_of_the_dict_are_apart_from_the_tensor():
    tensor = rl.ones(2)
    tensor.note = ["mine"]
    for made in (copy.copy(vars(tensor)), copy.deepcopy(vars(tensor)), pickle.loads(pickle.dumps(vars(tensor)))):
        assert made == {"note": ["mine"]}
        made["other"] = 2
        assert vars(tensor) == {"note": ["mine"]}
