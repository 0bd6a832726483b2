"""``torch.gradient``: derivatives of sampled functions by finite differences."""

from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .table import composite, functions


def _is_tensor(value):
    return hasattr(value, "_edge")


def _dimensions(input, dim, edge_order):
    """The dimensions to differentiate along, as non-negative numbers, after PyTorch's checks."""
    count = input.dim()
    chosen = tuple(range(count)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    settled = []
    for one in chosen:
        one = wrap_dim(one, count)
        if one in settled:
            raise RuntimeError(f"dim {one} appears multiple times in the list of dims")
        settled.append(one)
    if edge_order not in (1, 2):
        raise RuntimeError(
            hinted("torch.gradient only supports edge_order=1 and edge_order=2.", f"edge_order is {edge_order}")
        )
    for one in settled:
        if input.size(one) < edge_order + 1:
            raise RuntimeError(
                hinted(
                    "torch.gradient expected each dimension size to be at least edge_order+1",
                    f"dimension {one} has size {input.shape[one]}, edge_order is {edge_order}",
                )
            )
    return settled


def _spacings(input, spacing, dim, count):
    """The distance of samples, or the tensor of their coordinates, for each of ``count`` dimensions."""
    if not isinstance(spacing, (tuple, list)):
        if _is_tensor(spacing):
            if spacing.dim():
                raise TypeError(
                    hinted(
                        "gradient() received an invalid combination of arguments - got a Tensor for spacing",
                        "coordinates are given as a list with one tensor a dimension",
                    )
                )
            spacing = spacing.item()
        return [spacing] * count
    if dim is None and len(spacing) != input.dim():
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{input.dim()}', since dim argument was not given, but got a list of length {len(spacing)}"
        )
    if len(spacing) != count:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {len(spacing)} and a dim argument of length {count}."
        )
    for one in spacing:
        if _is_tensor(one) and one.dim() > 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                f"{one.dim()} dimensions!"
            )
    return list(spacing)


def _along_even(input, dim, distance, edge_order):
    """Second-order central differences for samples that lie ``distance`` apart."""

    def part(start, length):
        return input.narrow(dim, start, length)

    size = input.shape[dim]
    inner = (part(2, size - 2) - part(0, size - 2)) / (2 * distance)
    first, second, last, before = part(0, 1), part(1, 1), part(size - 1, 1), part(size - 2, 1)
    if edge_order == 1:
        begin, end = (second - first) / distance, (last - before) / distance
    else:
        begin = (second * 4 - first * 3 - part(2, 1)) / (2 * distance)
        end = (last * 3 - before * 4 + part(size - 3, 1)) / (2 * distance)
    return functions.cat((begin, inner, end), dim)


def _along_uneven(input, dim, coordinates, edge_order):
    """The same for samples at given coordinates: the derivative of the parabola through three neighbours."""
    size = input.shape[dim]
    if coordinates.shape[0] != size:
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have a size equal to that of its dimension, but got "
            f"{coordinates.shape[0]} coordinates for the {size} samples of dimension {dim}"
        )
    steps = coordinates.diff()
    shape = [1] * input.dim()
    shape[dim] = -1

    def part(start, length):
        return input.narrow(dim, start, length)

    left, right = steps[:-1].reshape(shape), steps[1:].reshape(shape)
    inner = (
        (-right / (left * (left + right))) * part(0, size - 2)
        + ((right - left) / (left * right)) * part(1, size - 2)
        + (left / (right * (left + right))) * part(2, size - 2)
    )
    if edge_order == 1:
        begin = (part(1, 1) - part(0, 1)) / steps[0]
        end = (part(size - 1, 1) - part(size - 2, 1)) / steps[-1]
        return functions.cat((begin, inner, end), dim)
    left, right = steps[0], steps[1]
    begin = (
        (-(2.0 * left + right) / (left * (left + right))) * part(0, 1)
        + ((left + right) / (left * right)) * part(1, 1)
        + (-left / (right * (left + right))) * part(2, 1)
    )
    left, right = steps[-2], steps[-1]
    end = (
        (right / (left * (left + right))) * part(size - 3, 1)
        + (-(left + right) / (left * right)) * part(size - 2, 1)
        + ((2 * right + left) / (right * (left + right))) * part(size - 1, 1)
    )
    return functions.cat((begin, inner, end), dim)


@composite(names=("torch",))
def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Estimate the derivative of a sampled function along dimensions; one tensor of ``input``'s shape for each.

    Args:
        spacing: the distance of samples, one number or a list with one for each dimension, or a list of 1-D tensors
            with their coordinates. Default: 1
        dim (int or ints): the dimensions; all if ``None``.
        edge_order (int): accuracy of the one-sided differences at the two ends, 1 or 2. Default: 1

    >>> import rushlight as torch
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    name = str(input.dtype).rpartition(".")[2]
    if name == "uint8":
        raise RuntimeError(
            hinted("torch.gradient does not support uint8 input.", "differences need a sign: convert to a signed dtype")
        )
    count = input.dim() if dim is None else 1 if isinstance(dim, int) else len(dim)
    spacings = _spacings(input, 1 if spacing is None else spacing, dim, count)
    chosen = _dimensions(input, dim, edge_order)
    found = []
    for one, space in zip(chosen, spacings):
        uneven = _is_tensor(space) and space.dim()
        found.append((_along_uneven if uneven else _along_even)(input, one, space, edge_order))
    return tuple(found)
