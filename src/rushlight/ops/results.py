"""Named results: the tuples with fields that some operations return, printed as PyTorch prints them."""

from collections import namedtuple

_made = {}


def named_result(name, fields):
    """The named tuple type ``torch.return_types.NAME`` with the given fields (separated by spaces)."""
    found = _made.get(name)
    if found is None:
        base = namedtuple(name, fields)

        def __repr__(self):
            parts = [f"{field}={value!r}" for field, value in zip(self._fields, self)]
            return f"torch.return_types.{name}(\n" + ",\n".join(parts) + ")"

        found = _made[name] = type(
            name, (base,), {"__slots__": (), "__repr__": __repr__, "__module__": "torch.return_types"}
        )
    return found
