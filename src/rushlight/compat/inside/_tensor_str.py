"""``torch._tensor_str``: how tensors are printed."""

from ...tensor.printing import format_elements, get_printoptions, printoptions, set_printoptions, with_suffixes


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


_str_intern = _str


def _tensor_str(self, indent):
    """The text of the elements alone, in brackets that begin at column ``indent``."""
    return format_elements(self.detach().resolve_conj().resolve_neg().numpy(), indent) if self.numel() else "[]"


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    """The text with ``, suffix`` for each suffix and the closing bracket; the first on a line of its own if asked."""
    return with_suffixes(tensor_str, suffixes, indent, force_newline)
