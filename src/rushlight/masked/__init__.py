"""``torch.masked``: operations on the elements that a mask keeps, and tensors that carry their mask with them."""

from importlib import import_module as _import_module

from ..tensor.names import names_of as _names_of

_function_named, _functions = _names_of("masked", globals())
_TENSORS = ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor")


def __getattr__(name):
    if name in _TENSORS:
        _import_module(".calls", __name__)
        globals()[name] = found = getattr(_import_module(".tensors", __name__), name)
        return found
    return _function_named(name)


def __dir__():
    return sorted({*_functions(), *_TENSORS})
