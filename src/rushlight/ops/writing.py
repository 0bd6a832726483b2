"""Operations that write into a part of a tensor: one record gives the form that copies and the one in place."""

import warnings

import numpy as np

from ..base.user_code import to_user
from .copy import dense_copy, is_expanded, refuse_overlap, refuse_shared
from .table import BOTH, INPLACE, op

# What the form in place does about memory that is looked into twice.
REFUSE = "refuse"  # ``self`` may not be expanded, operands may not share memory with it
WARN = "warn"  # as REFUSE, but an expanded ``self`` only gets a warning
SHARE = "share"  # ``self`` may not be expanded


def writes(schema, *, names=BOTH, node=None, inplace_names=("Tensor",), inplace_node=None, memory=REFUSE):
    """Write a class into the table as two operations, ``NAME`` and ``NAME_``.

    The class holds ``write(self, ...)``, which checks its arguments and then writes into the array ``self``, and the
    derivative rules of both. ``start(self, ...)``, if there, makes the array that the copying form writes into; by
    default that is a copy of ``self``. ``memory`` says what the form in place refuses (constants above).
    """

    def register(record):
        body = dict(record.__dict__)
        write, start = body.pop("write"), body.pop("start", None)

        def forward(self, *arguments):
            result = dense_copy(self) if start is None else start(self, *arguments)
            write(result, *arguments)
            return result

        head, rest = schema.split("(", 1)
        name = record.__name__

        def forward_in_place(self, *arguments):
            _check_memory(self, arguments, head + "_", memory)
            write(self, *arguments)

        copying = type(name, (), {**body, "forward": forward})
        if "no_derivative" in body:
            kind, sentence = body["no_derivative"]
            body["no_derivative"] = kind, sentence.replace(f"aten::{head}", f"aten::{head}_")
        in_place = type(name + "_", (), {**body, "forward": forward_in_place, "__doc__": f"In-place form of `{name}`."})
        entry = op(schema, names=names, node=node)(copying)
        op(f"{head}_({rest}", kind=INPLACE, names=inplace_names, node=inplace_node or entry.node_name)(in_place)
        return entry

    return register


def _check_memory(self, arguments, name, memory):
    if memory is not WARN:
        refuse_overlap(self)
    elif is_expanded(self):
        warnings.warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
            "This also applies to advanced indexing e.g. tensor[indices] = tensor",
            UserWarning,
            stacklevel=to_user(),
        )
    for value in () if memory is SHARE else arguments:
        if value.__class__ is np.ndarray and (value.ndim or memory is REFUSE):
            refuse_shared(self, value)
