"""``torch.masked``: reductions and normalisations over the elements that a bool mask keeps.

Every one of them puts a neutral number where the mask is False and then does what its unmasked form does.
"""

import math

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .table import composite, functions


def _zero(dtype):
    return 0


def _one(dtype):
    return 1


def _lowest(dtype):
    """The number below all others."""
    return -math.inf if dtype.is_floating_point else _limits(dtype).min


def _lowest_exponent(dtype):
    """`_lowest`, for complex numbers too: the number whose exponential is 0."""
    return -math.inf if dtype.is_complex else _lowest(dtype)


def _limits(dtype):
    """The limits of an integer dtype, or PyTorch's error for a dtype without any."""
    if dtype.is_complex:
        message = "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
        raise TypeError(hinted(message, "complex numbers have no order"))
    return dtypes.iinfo(dtype)


def _highest(dtype):
    """The number above all others."""
    return math.inf if dtype.is_floating_point else _limits(dtype).max


def _nan(dtype):
    return math.nan


def _spread_mask(input, mask):
    """The mask in the shape of ``input``."""
    if mask.ndim > input.ndim:
        raise IndexError(
            hinted(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)",
                f"the mask has shape {list(mask.shape)}, the input {list(input.shape)}",
            )
        )
    return mask.expand(input.shape).bool()


def _kept(input, mask, neutral, name=None):
    """``input`` with the neutral number of the operation ``name`` where the mask is False."""
    if mask is None:
        return input
    if input.dtype is dtypes.bool_ and neutral in (_lowest, _lowest_exponent, _highest):
        message = f"identity of {name} on torch.bool input"
        raise NotImplementedError(hinted(message, "convert the input first: x.int()"))
    filler = functions.full((), neutral(input.dtype), dtype=input.dtype, device=input.device)
    return functions.where(_spread_mask(input, mask), input, filler)


def _dims(dim, ndim):
    """All dimensions meant by a ``dim`` argument, in order; None and () mean every one."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    found = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(hinted(f"dim={d} appears multiple times in the list of dims", f"dim is {dim}"))
        found.append(wrap_dim(d, ndim))
    return tuple(sorted(found))


def _sum_dtype(input, dtype):
    """The dtype of sums and products: small integers are added up in int64."""
    if dtype is not None:
        return dtype
    return dtypes.int64 if input.dtype.category <= dtypes.SIGNED else input.dtype


@composite(names=("masked:sum",))
def masked_sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum over ``dim``, or all, of the elements where ``mask`` is True.

    >>> import rushlight as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.masked.sum(x, 1, mask=x > 1)
    tensor([2., 7.])
    """
    dims = _dims(dim, input.ndim)
    return _kept(input, mask, _zero).sum(dims, keepdim, dtype=_sum_dtype(input, dtype))


@composite(names=("masked:prod",))
def masked_prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product over ``dim``, or all, of the elements where ``mask`` is True."""
    dims = _dims(dim, input.ndim)
    found = _kept(input, mask, _one).to(_sum_dtype(input, dtype))
    for d in reversed(dims):
        found = found.prod(d, keepdim)
    return found


def _running(name, function, neutral, what):
    def call(input, dim, *, dtype=None, mask=None):
        axis = (_dims(dim, input.ndim) or (0,))[0]
        if (dtype or input.dtype) is dtypes.bool_ and input.ndim and input.numel():
            raise NotImplementedError(
                hinted(f"\"{name}_out_cpu\" not implemented for 'Bool'", "ask for another dtype: dtype=torch.int64")
            )
        return function(_kept(input, mask, neutral, name), axis).to(dtype or input.dtype)

    call.__name__ = call.__qualname__ = f"masked_{name}"
    call.__doc__ = f"The running {what} along ``dim`` of the elements where ``mask`` is True."
    return composite(call, names=(f"masked:{name}",))


masked_cumsum = _running("cumsum", lambda x, d: x.cumsum(d, dtype=x.dtype), _zero, "sum")
masked_cumprod = _running("cumprod", lambda x, d: x.cumprod(d, dtype=x.dtype), _one, "product")


def _extreme(name, neutral, what):
    def call(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        kept = _kept(input, mask, neutral, name)
        return getattr(functions, name)(kept, _dims(dim, kept.ndim), keepdim).to(dtype or input.dtype)

    call.__name__ = call.__qualname__ = f"masked_{name}"
    call.__doc__ = f"The {what} over ``dim``, or all, of the elements where ``mask`` is True."
    return composite(call, names=(f"masked:{name}",))


masked_amax, masked_amin = _extreme("amax", _lowest, "largest"), _extreme("amin", _highest, "smallest")


def _place(name, neutral, what):
    def call(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        found = getattr(functions, name)(_kept(input, mask, neutral, name), dim, keepdim)
        return found.to(dtype or input.dtype)

    call.__name__ = call.__qualname__ = f"masked_{name}"
    call.__doc__ = f"Where the {what} element is among those where ``mask`` is True, as a number of the input's dtype."
    return composite(call, names=(f"masked:{name}",))


masked_argmax, masked_argmin = _place("argmax", _lowest, "largest"), _place("argmin", _highest, "smallest")


def _count(input, dim, keepdim, mask):
    """How many elements take part in each result."""
    mask = (
        functions.ones(input.shape, dtype=dtypes.bool_, device=input.device)
        if mask is None
        else _spread_mask(input, mask)
    )
    return mask.sum(dim, keepdim)


@composite(names=("masked:mean",))
def masked_mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean over ``dim``, or all, of the elements where ``mask`` is True; NaN where there are none."""
    source, dtype = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            hinted(
                f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. Got: "
                f"{dtype!r}",
                "convert the input with .float(), or ask for a floating dtype",
            )
        )
    dim = _dims(dim, input.ndim) if mask is None else dim
    count = _count(input, dim, keepdim, mask)
    return masked_sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / count


@composite(names=("masked:median",))
def masked_median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median along ``dim`` of the elements where ``mask`` is True; NaN where there are none."""
    axis = (_dims(dim, input.ndim) or (0,))[0]
    floating = input.is_floating_point()
    kept = _kept(input if floating else input.float(), mask, _nan)
    found = functions.nanmedian(kept, axis, keepdim).values
    if floating:
        return found
    if found.isnan().any():
        raise ValueError(
            hinted(
                "masked median expects no fully masked out rows if dtype is not floating point",
                "integers have no NaN to stand for the median of nothing: convert with .float()",
            )
        )
    return found.to(dtype or input.dtype)


@composite(names=("masked:logsumexp",))
def masked_logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The logarithm of the sum of exponentials over ``dim``, or all, of the elements where ``mask`` is True."""
    dims = _dims(dim, input.ndim)
    return _kept(input, mask, _lowest_exponent, "logsumexp").logsumexp(dims, keepdim).to(dtype or input.dtype)


@composite(names=("masked:logaddexp",))
def masked_logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """``log(exp(input) + exp(other))`` of two tensors, each without what its mask leaves out."""
    found = functions.logaddexp(
        _kept(input, input_mask, _lowest, "logaddexp"), _kept(other, other_mask, _lowest, "logaddexp")
    )
    return found.to(dtype or input.dtype)


@composite(names=("masked:norm",))
def masked_norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of order ``ord`` over ``dim``, or all, of the elements where ``mask`` is True."""
    kept = _kept(input, mask, _highest if ord == -math.inf else _zero)
    return functions.linalg_vector_norm(kept, ord, _dims(dim, input.ndim), keepdim, dtype=dtype or input.dtype)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask):
    if correction is None:
        correction = 1.0 if unbiased is None else float(unbiased)
    elif unbiased is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    computed = dtype or input.dtype
    if not (computed.is_floating_point or computed.is_complex):
        computed = dtypes.float32
    dtype = dtype or computed
    kept = _count(input, dim, True, mask)
    mean = masked_sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / kept
    deviation = input - mean
    total = masked_sum(deviation * deviation.conj(), dim, keepdim=keepdim, dtype=computed, mask=mask)
    count = _count(input, dim, keepdim, mask)
    if correction:
        count = (count.to(computed.to_real()) - correction).clamp(min=0)
    return (total / count).to(dtype)


@composite(names=("masked:var",))
def masked_var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance over ``dim``, or all, of the elements where ``mask`` is True; ``correction`` (1) lowers the count."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


@composite(names=("masked:std",))
def masked_std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation: the root of `masked.var`."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def _normalisation(name, neutral, identity, what):
    def call(input, dim, *, dtype=None, mask=None):
        axis = (_dims(dim, input.ndim) or (0,))[0]
        kept = _kept(input, mask, neutral, identity)
        return getattr(functions, f"functional_{name}")(kept, axis, dtype=dtype or input.dtype)

    call.__name__ = call.__qualname__ = f"masked_{name}"
    call.__doc__ = f"{what} along ``dim`` of the elements where ``mask`` is True."
    return composite(call, names=(f"masked:{name}",))


masked_softmax = _normalisation("softmax", _lowest, "amax", "Exponentials, divided by their sum,")
masked_log_softmax = _normalisation("log_softmax", _lowest, "amax", "The logarithm of `masked.softmax`")
masked_softmin = _normalisation("softmin", _highest, "amin", "The softmax of the negated numbers")


@composite(names=("masked:normalize",))
def masked_normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements where ``mask`` is True divided by their norm along ``dim``; zero elsewhere."""
    size = masked_norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _kept(input, mask, _zero) / functions.maximum(size, size.new_full((), eps))
