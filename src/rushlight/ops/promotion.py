"""Questions about dtypes and values: what a computation's dtype would be, whether one may be written into another."""

from ..base import dtypes
from ..base.errors import hinted
from ..base.scalars import check_number
from .table import composite


def _is_tensor(value):
    return hasattr(value, "_edge")


def common_dtype(operands):
    """The dtype in which tensors and numbers are computed together."""
    first = None
    dimensioned, zero_dimensional, scalars = [], [], []
    for value in operands:
        if value is None:
            continue
        if hasattr(value, "_edge"):
            array = value._array
            (dimensioned if array.ndim else zero_dimensional).append(dtypes.from_numpy(array.dtype))
        else:
            scalars.append(dtypes.of_operand(value))
        first = value
    if first is None:
        raise TypeError("an elementwise operation needs at least one operand")
    return dtypes.result_type(dimensioned, zero_dimensional, scalars)


@composite(names=("torch",))
def is_tensor(obj, /):
    """Whether ``obj`` is a tensor.

    >>> import rushlight as torch
    >>> torch.is_tensor(torch.ones(2)), torch.is_tensor([1.0])
    (True, False)
    """
    return hasattr(obj.__class__, "_edge")  # an object may claim to have any attribute


@composite(names=("torch",))
def result_type(tensor1, tensor2):
    """The dtype in which an operation on the two, tensors or numbers, computes.

    A number decides only where its category (bool, integer, floating, complex) is higher than the tensor's, and a
    0-dim tensor yields in the same way to one that has dimensions.

    >>> import rushlight as torch
    >>> torch.result_type(torch.tensor([1, 2], dtype=torch.int), 1.0)
    torch.float32
    """
    groups = [], [], []
    for value in (tensor1, tensor2):
        if _is_tensor(value):
            groups[value.ndim == 0].append(value.dtype)
        elif isinstance(value, (bool, int, float, complex)):
            check_number(value)
            groups[2].append(dtypes.of_operand(value))
        else:
            raise TypeError(
                hinted(
                    "result_type() received an invalid combination of arguments - got "
                    f"({type(tensor1).__name__}, {type(tensor2).__name__})",
                    "each of the two is a tensor or a Python number",
                )
            )
    return dtypes.result_type(*groups)


@composite(names=("torch",))
def can_cast(from_, to):
    """Whether values of dtype ``from_`` may be written into a tensor of dtype ``to`` by an operation's result.

    >>> import rushlight as torch
    >>> torch.can_cast(torch.double, torch.float), torch.can_cast(torch.float, torch.int)
    (True, False)
    """
    from_, to = (dtypes.PYTHON.get(each, each) if isinstance(each, type) else each for each in (from_, to))
    for position, (name, dtype) in enumerate((("from_", from_), ("to", to)), 1):
        if not isinstance(dtype, dtypes.DType):
            kind = type(dtype).__name__
            raise TypeError(f"can_cast(): argument '{name}' (position {position}) must be torch.dtype, not {kind}")
    return dtypes.can_cast(from_, to)


@composite
def is_nonzero(input):
    """Whether a tensor of one element is anything but zero.

    >>> import rushlight as torch
    >>> torch.is_nonzero(torch.tensor([0.0]))
    False
    """
    count = input.numel()
    if count != 1:
        which = "no values" if count == 0 else "more than one value"
        raise RuntimeError(
            hinted(
                f"Boolean value of Tensor with {which} is ambiguous",
                f"the tensor has shape {list(input.shape)}: use any() or all() for more than one element",
            )
        )
    return bool(input.item() != 0)
