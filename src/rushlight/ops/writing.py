"""Operations that write into a part of a tensor: one record gives the form that copies and the one in place."""

from .copy import dense_copy
from .table import BOTH, INPLACE, op


def writes(schema, *, names=BOTH, node=None, inplace_names=("Tensor",), inplace_node=None):
    """Write a class into the table as two operations, ``NAME`` and ``NAME_``.

    The class holds ``write(self, ...)``, which checks its arguments and then writes into the array ``self``, and the
    derivative rules of both. ``start(self, ...)``, if there, makes the array that the copying form writes into; by
    default that is a copy of ``self``.
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
        copying = type(name, (), {**body, "forward": forward})
        in_place = type(name + "_", (), {**body, "forward": write, "__doc__": f"In-place form of `{name}`."})
        entry = op(schema, names=names, node=node)(copying)
        op(f"{head}_({rest}", kind=INPLACE, names=inplace_names, node=inplace_node or entry.node_name)(in_place)
        return entry

    return register
