"""Checks under TORCH_DISTRIBUTED_DEBUG=DETAIL: all processes have to call the same collective with tensors alike."""

from __future__ import annotations

import enum
import json
import os

import numpy as np

from ..base.errors import hinted
from . import waiting

_LENGTH = 1024


class DebugLevel(enum.Enum):
    """How much is checked; DETAIL: collectives are compared."""

    OFF = 0
    INFO = 1
    DETAIL = 2

    def __str__(self):
        return f"DebugLevel.{self.name}"


def _level_from_environment():
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise ValueError(
            hinted(
                "The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.",
                f"it is {os.environ['TORCH_DISTRIBUTED_DEBUG']!r}",
            )
        )
    return DebugLevel[name]


_level = _level_from_environment()


def get_debug_level():
    """How much is checked: at first what TORCH_DISTRIBUTED_DEBUG says."""
    return _level


def set_debug_level(arg0):
    """Choose how much is checked in groups that are made from now on.

    >>> import rushlight.distributed as dist
    >>> dist.set_debug_level(dist.DebugLevel.OFF)
    >>> dist.get_debug_level()
    <DebugLevel.OFF: 0>
    """
    global _level
    if not isinstance(arg0, DebugLevel):
        raise TypeError(
            hinted(
                "set_debug_level(): incompatible function arguments. The following argument types are supported:",
                "it takes a DebugLevel, such as DebugLevel.DETAIL",
            )
        )
    _level = arg0


def set_debug_level_from_env():
    """Choose what TORCH_DISTRIBUTED_DEBUG says now."""
    set_debug_level(_level_from_environment())


def compare(group, call, tensor):
    """RuntimeError, in all processes, where they do not agree on a collective that begins."""
    shape = None if tensor is None else [int(each) for each in tensor.shape]
    told = {
        "what": [call.number, call.name.upper(), shape, None if tensor is None else tensor.dtype.legacy_name],
        "where": str(call),
    }
    own, all_told = np.zeros(_LENGTH, np.uint8), np.zeros((group.size(), _LENGTH), np.uint8)
    text = json.dumps(told).encode()[:_LENGTH]
    own[: len(text)] = np.frombuffer(text, np.uint8)
    waiting.wait(group.transport.all_gather(all_told, own), call, group.seconds)
    found = [json.loads(row.tobytes().rstrip(b"\0")) for row in all_told]
    for rank, other in enumerate(found):
        if other["what"] != told["what"]:
            raise _mismatch(group.rank(), told["what"], rank, other["what"], found)


def _mismatch(rank, own, other_rank, other, found):
    different = [
        f"{name}: {mine}vs {its}"
        for name, mine, its in zip(
            ("Sequence number", "Op type", "Tensor Tensor shapes", "Tensor Tensor dtypes"), own, other
        )
        if mine != its
    ]
    return RuntimeError(
        hinted(
            f"Detected mismatch between collectives on ranks. Rank {rank} is running collective: {_fingerprint(own)}, but Rank "
            f"{other_rank} is running collective: {_fingerprint(other)}.Collectives differ in the following aspects: \t "
            + " ".join(different),
            "; ".join(f"rank {place} runs {each['where']}" for place, each in enumerate(found)),
        )
    )


def _fingerprint(what):
    number, name, shape, dtype = what
    parts = [f"SequenceNumber={number}", f"OpType={name}"]
    if shape is not None:
        parts += [f"TensorShape={shape}", f"TensorDtypes={dtype}"]
    return f"CollectiveFingerPrint({', '.join(parts)})"
