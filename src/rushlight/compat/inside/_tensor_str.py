"""``torch._tensor_str``: how tensors are printed."""

from ...tensor.printing import get_printoptions, printoptions, set_printoptions


class _Options:
    """The options in force, by name."""

    def __getattr__(self, name):
        try:
            return get_printoptions()[name]
        except KeyError:
            raise AttributeError(f"'__PrinterOptions' object has no attribute '{name}'") from None

    def __repr__(self):
        return f"__PrinterOptions({', '.join(f'{name}={value}' for name, value in get_printoptions().items())})"


PRINT_OPTS = _Options()


def _str(self, *, tensor_contents=None):
    """The text of a tensor."""
    return self.__repr__(tensor_contents=tensor_contents)
