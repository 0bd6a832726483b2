"""What a tensor shows as its ``__dict__``."""

import rushlight as rl
from rushlight import nn


def test_dict_shows_the_users_attributes_alone():
    tensor = nn.Parameter(rl.ones(2))
    tensor.note = "mine"
    vars(tensor)["other"] = 2
    assert vars(tensor) == {"note": "mine", "other": 2} and tensor.other == 2
    vars(tensor).pop("note")
    assert not hasattr(tensor, "note") and tensor.tolist() == [1, 1]
