"""Integrals by the trapezoidal rule."""

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .table import composite


def _refuse_bools(name, y, x):
    """Bools are no samples; beside places neither may be bool."""
    if x is None and y.dtype is dtypes.bool_:
        raise RuntimeError(
            hinted(f"{name}: received a bool input for `y`, but bool is not supported", "convert it with .float()")
        )
    if x is not None and dtypes.bool_ in (x.dtype, y.dtype):
        raise RuntimeError(
            hinted(
                f"{name}: received a bool input for `x` or `y`, but bool is not supported", "convert it with .float()"
            )
        )


def _trapezoids(name, y, x, dx, dim):
    """Twice the area between each two neighbouring samples, and the dimension."""
    _refuse_bools(name, y, x)
    if x is None and not y.ndim:
        raise IndexError(hinted("slice() cannot be applied to a 0-dim tensor.", f"{name} integrates along a dimension"))
    dim = wrap_dim(dim, y.ndim)
    length = y.size(dim)
    pairs = max(length - 1, 0)
    steps = dx
    if x is not None:
        if x.ndim == 1 and x.shape[0] != length:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        if x.ndim == 1:
            x = x.reshape([-1 if d == dim else 1 for d in range(y.ndim)])
        elif x.ndim < y.ndim:
            x = x.reshape((1,) * (y.ndim - x.ndim) + tuple(x.shape))
        spans = max(x.shape[dim] - 1, 0)
        steps = x.narrow(dim, min(1, x.shape[dim]), spans) - x.narrow(dim, 0, spans)
    start = 1 if length else 0
    return (y.narrow(dim, 0, pairs) + y.narrow(dim, start, pairs)) * steps, dim


def _sample_points(name, x, dx):
    if x is not None and dx is not None:
        raise TypeError(
            hinted(
                f"{name}() received an invalid combination of arguments - got (Tensor, dx={type(dx).__name__}, x=Tensor), but "
                "expected one of:",
                "give either the places x or their distance dx",
            )
        )
    if isinstance(dx, complex):
        raise RuntimeError(
            hinted(f"{name}: Currently, we only support dx as a real number.", "complex places can be given as x")
        )
    return 1 if dx is None else dx


@composite(names=("torch", "torch:trapz"))
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral of samples ``y`` along ``dim``, taken at the places ``x`` or at a distance ``dx``.

    >>> import rushlight as torch
    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    step = _sample_points("trapezoid", x, dx)
    if x is not None:
        dim = wrap_dim(dim, y.ndim)
    if not y.size(dim):
        return y.sum(dim, dtype=y.dtype)
    if x is None and y.dtype is not dtypes.bool_:  # each sample but the first and the last belongs to two areas
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * step
    areas, dim = _trapezoids("trapezoid", y, x, step, dim)
    return areas.sum(dim) / 2.0


@composite(names=("torch",))
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The running integral of samples ``y`` along ``dim``: one value less than there are samples."""
    areas, dim = _trapezoids("cumulative_trapezoid", y, x, _sample_points("cumulative_trapezoid", x, dx), dim)
    return (areas / 2.0).cumsum(dim)
