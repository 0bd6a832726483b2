"""Discrete Fourier transforms: complex to complex, real to complex and back, in one or more dimensions."""

import functools
import math

import numpy as np

from ..base import dtypes
from ..base.arrays import dense_strides
from ..base.errors import hinted
from ..base.shapes import wrap_own_dim
from .table import CREATE, composite, conj, functions, op

# The norm under which the transform in the other direction has the same factor: that of the adjoint.
_ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
_MODES = frozenset((None, "backward", "forward", "ortho"))
_TRANSFORMED = frozenset((dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128))


# ---------------------------------------------------------------- the three transforms


def layout_of(array, dims, last):
    """The order in which the axes of a transform's result lie in memory, as PyTorch has it: those that are not transformed,
    then the others, each as they lie in the operand; ``last``, if there is one, behind all."""
    if len(dims) == 1 and dims[0] == array.ndim - 1 and array.flags.c_contiguous:
        return [*range(array.ndim)]
    return order_of(array, dims, last)


def order_of(array, dims, last):
    """`layout_of` an array, or of what has its strides."""
    strides = array.strides
    if last is None and 0 in strides and array.dtype.kind != "c":  # PyTorch makes complex numbers of them first
        strides = dense_strides(array.shape, strides)
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    transformed = [d for d in order if d in dims and d != last]
    return [d for d in order if d not in dims] + transformed + ([] if last is None else [last])


def refuse_empty(array):
    """PyTorch's refusal of arrays without elements: its library for transforms takes no plan of zero signals."""
    if not array.size:
        message = "MKL FFT error: Intel oneMKL DFTI ERROR: Inconsistent configuration parameters"
        raise RuntimeError(hinted(message, f"there is no number to transform: the shape is {list(array.shape)}"))


def scale_of(norm, count, forward):
    """The factor of a transform over ``count`` numbers."""
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if (norm == "forward") == forward else 1.0


def _along(transform, array, dims, last, *lengths, norm):
    """``transform(array, *lengths, axes=dims, norm=norm)``, with the result laid out as `layout_of` says."""
    order = layout_of(array, dims, last)
    found = transform(array.transpose(order), *lengths, axes=[order.index(d) for d in dims], norm=norm)
    return np.ascontiguousarray(found).transpose(np.argsort(order))


@op("fft_c2c(Tensor self, int[] dim, str norm, bool forward) -> Tensor", names=(), node="FftC2CBackward0")
class fft_c2c:
    """The transform (``forward``) or its inverse of a complex array in the dimensions ``dim``."""

    def forward(self, dim, norm, forward):
        if not dim:
            return self.astype(
                dtypes.from_numpy(self.dtype).to_complex().numpy if self.dtype.kind != "c" else self.dtype
            )
        refuse_empty(self)
        if len(dim) == 1 and dim[0] == self.ndim - 1 and self.flags.c_contiguous:
            return (np.fft.fft if forward else np.fft.ifft)(self, norm=norm)
        return _along(np.fft.fftn if forward else np.fft.ifftn, self, dim, None, norm=norm)

    def d_self(grad, dim, norm, forward):
        return functions.fft_c2c(grad, dim, _ADJOINT[norm], not forward)


@op("fft_r2c(Tensor self, int[] dim, str norm, bool onesided) -> Tensor", names=(), node="FftR2CBackward0")
class fft_r2c:
    """The transform of a real array; ``onesided``: only the first half, which determines the rest, along the last of
    ``dim``."""

    def forward(self, dim, norm, onesided):
        refuse_empty(self)
        if len(dim) == 1 and dim[0] == self.ndim - 1 and self.flags.c_contiguous:
            return (np.fft.rfft if onesided else np.fft.fft)(self, norm=norm)
        return _along(np.fft.rfftn if onesided else np.fft.fftn, self, dim, dim[-1], norm=norm)

    def d_self(grad, self, dim, norm, onesided):
        if onesided:
            grad = _resized(grad, dim[-1], self.shape[dim[-1]])
        return functions.fft_c2c(grad, dim, _ADJOINT[norm], False).real


@op("fft_c2r(Tensor self, int[] dim, str norm, int length) -> Tensor", names=(), node="FftC2RBackward0")
class fft_c2r:
    """The inverse of `fft_r2c`: a real array, of ``length`` along the last of ``dim``."""

    def forward(self, dim, norm, length):
        refuse_empty(self)
        if len(dim) == 1 and dim[0] == self.ndim - 1 and self.flags.c_contiguous:
            return np.fft.irfft(self, length, norm=norm)
        lengths = [*(self.shape[d] for d in dim[:-1]), length]
        return _along(np.fft.irfftn, self, dim, dim[-1], lengths, norm=norm)

    def d_self(grad, dim, norm, length):
        found = functions.fft_r2c(grad, dim, _ADJOINT[norm], True)
        # Every coefficient but the first (and the middle one of an even length) also stands for its mirror image.
        weights = functions.full([length // 2 + 1], 2.0, dtype=grad.dtype, device=grad.device)
        weights[0] = 1
        if length % 2 == 0:
            weights[-1] = 1
        shape = [1] * found.ndim
        shape[dim[-1]] = -1
        return found * weights.view(shape)


# ---------------------------------------------------------------- arguments


def _promoted(input):
    """``input`` in a dtype that transforms exist for."""
    dtype = input.dtype
    if dtype.category < dtypes.FLOATING:
        return input.to(dtypes.get_default_dtype())
    if dtype.itemsize == 2:
        raise RuntimeError(
            hinted(f"Unsupported dtype {dtype.legacy_name}", "transforms compute in float32 and float64: x.float()")
        )
    return input


def _norm(norm):
    if norm not in _MODES:
        raise RuntimeError(hinted(f'Invalid normalization mode: "{norm}"', "it is backward, ortho or forward"))
    return norm or "backward"


def _check_length(length):
    if length < 1:
        raise RuntimeError(
            hinted(f"Invalid number of data points ({length}) specified", "a transform takes at least one")
        )
    return length


def _resized(input, dim, length):
    """``input`` cut or filled with zeros to ``length`` along ``dim``."""
    have = input.shape[dim]
    if have > length:
        return input.narrow(dim, 0, length)
    return input if have == length else functions.pad(input, [0, 0] * (input.ndim - 1 - dim) + [0, length - have])


def _dims_and_sizes(ndim, s, dim):
    """The dimensions to transform and their lengths (-1: as they are)."""
    if dim is not None:
        dims = tuple(wrap_own_dim(d, ndim) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError(hinted("FFT dims must be unique", f"dim is {dim}"))
        if s is not None and len(s) != len(dims):
            raise RuntimeError(
                hinted("When given, dim and shape arguments must have the same length", f"they are {dim} and {s}")
            )
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        dims = tuple(range(ndim - len(s), ndim))
    else:
        dims = tuple(range(ndim))
    return dims, s if s is not None else (-1,) * len(dims)


@functools.lru_cache(4096)
def _geometry(shape, s, dim, name):
    """The dimensions to transform, those to be brought to another length with that, and the last one's length.

    ``name`` is of a transform that needs a dimension; where that ends in real numbers, half of the last one's are asked for.
    """
    dims, sizes = _dims_and_sizes(len(shape), s, dim)
    if name is not None and not dims:
        raise RuntimeError(hinted(f"{name} must transform at least one axis", "dim is empty"))
    halves, length, changes = name in ("irfftn", "hfftn"), 0, []
    for place, (d, size) in enumerate(zip(dims, sizes)):
        needed = length = _check_length(shape[d] if size == -1 else size)
        if halves and place == len(dims) - 1:
            length = _check_length(2 * (shape[d] - 1) if size == -1 else size)
            needed = length // 2 + 1
        if needed != shape[d]:
            changes.append((d, needed))
    return dims, tuple(changes), length


def _arranged(input, s, dim, name=None):
    """The input, in a dtype that transforms exist for and of the lengths asked for; what is transformed; the last length."""
    if input.dtype not in _TRANSFORMED:
        input = _promoted(input)
    s, dim = ((v,) if isinstance(v, int) else v if v is None else tuple(v) for v in (s, dim))
    dims, changes, length = _geometry(input.shape, s, dim, name)
    for d, needed in changes:
        input = _resized(input, d, needed)
    return input, dims, length


# ---------------------------------------------------------------- one dimension


def _axis(input, dim):
    """The input in a dtype that transforms exist for, the dimension counted from the first, its length."""
    if input.dtype not in _TRANSFORMED:
        input = _promoted(input)
    shape = input.shape
    if not -len(shape) <= dim < len(shape):
        wrap_own_dim(dim, len(shape))
    dim %= len(shape)
    return input, dim, shape[dim]


def _along_one(input, n, dim):
    """The input cut or filled to ``n`` values, and the dimension as a tuple."""
    input, dim, have = _axis(input, dim)
    if n is None:
        n = have
    if n < 1:
        _check_length(n)
    return input if n == have else _resized(input, dim, n), (dim,)


@composite(names=("fft:fft",), out=True)
def fft_fft(input, n=None, dim=-1, norm=None):
    """The discrete Fourier transform along ``dim``, of the signal cut or filled with zeros to ``n`` values.

    ``norm``: "backward" (the default: no factor), "ortho" (1/sqrt(n)) or "forward" (1/n). The result is complex.

    >>> import rushlight as torch
    >>> torch.fft.fft(torch.tensor([1.0, 0.0, 0.0])).real
    tensor([1., 1., 1.])
    """
    input, dims = _along_one(input, n, dim)
    found = (
        functions.fft_c2c(input, dims, _norm(norm), True)
        if input.is_complex()
        else functions.fft_r2c(input, dims, _norm(norm), False)
    )
    return found


@composite(names=("fft:ifft",), out=True)
def fft_ifft(input, n=None, dim=-1, norm=None):
    """The inverse of `fft.fft`, with the factor 1/n under the norm "backward"."""
    input, dims = _along_one(input, n, dim)
    if input.is_complex():
        found = functions.fft_c2c(input, dims, _norm(norm), False)
    else:
        found = functions.fft_r2c(input, dims, _ADJOINT[_norm(norm)], False).conj()
    return found


def _require_real(input, words):
    if input.is_complex():
        raise RuntimeError(hinted(f"{words} {input.dtype.legacy_name}", "torch.fft.fft takes complex numbers"))


@composite(names=("fft:rfft",), out=True)
def fft_rfft(input, n=None, dim=-1, norm=None):
    """The first ``n // 2 + 1`` coefficients of the transform of a real signal; the others are their conjugates.

    >>> import rushlight as torch
    >>> torch.fft.rfft(torch.ones(4)).abs()
    tensor([4., 0., 0.])
    """
    _require_real(input, "rfft expects a real input tensor, but got")
    input, dims = _along_one(input, n, dim)
    return functions.fft_r2c(input, dims, _norm(norm), True)


def _complex(input):
    return input if input.is_complex() else input.to(input.dtype.to_complex())


def _half_spectrum(input, n, dim):
    """Complex coefficients of a real signal of ``n`` values (by default the even length), cut or filled; and n."""
    input, dim, have = _axis(input, dim)
    length = 2 * (have - 1) if n is None else n
    if length < 1:
        _check_length(length)
    needed = length // 2 + 1
    return _complex(input if needed == have else _resized(input, dim, needed)), (dim,), length


@composite(names=("fft:irfft",), out=True)
def fft_irfft(input, n=None, dim=-1, norm=None):
    """The inverse of `fft.rfft`: a real signal of ``n`` values, by default 2 * (coefficients - 1)."""
    input, dims, length = _half_spectrum(input, n, dim)
    return functions.fft_c2r(input, dims, _norm(norm), length)


@composite(names=("fft:hfft",), out=True)
def fft_hfft(input, n=None, dim=-1, norm=None):
    """The real transform of a signal that is Hermitian, given by its first half."""
    input, dims, length = _half_spectrum(input, n, dim)
    return functions.fft_c2r(input.conj(), dims, _ADJOINT[_norm(norm)], length)


@composite(names=("fft:ihfft",), out=True)
def fft_ihfft(input, n=None, dim=-1, norm=None):
    """The inverse of `fft.hfft`: the first half of a Hermitian signal, from its real transform."""
    _require_real(input, "ihfft expects a real input tensor, but got")
    input, dims = _along_one(input, n, dim)
    return functions.fft_r2c(input, dims, _ADJOINT[_norm(norm)], True).conj()


# ---------------------------------------------------------------- more dimensions


def _c2c(input, s, dim, norm, forward):
    input, dims, _ = _arranged(input, s, dim)
    return functions.fft_c2c(input, dims, _norm(norm), forward)


def _r2c(input, s, dim, norm, name):
    _require_real(input, f"{name} expects a real-valued input tensor, but got")
    input, dims, _ = _arranged(input, s, dim, name)
    return functions.fft_r2c(input, dims, _norm(norm), True)


def _c2r(input, s, dim, norm, name):
    """Complex half spectrum to real; of "hfftn" the conjugate is transformed, under the other norm."""
    input, dims, length = _arranged(input, s, dim, name)
    input, norm = _complex(input), _norm(norm)
    if name == "hfftn":
        return functions.fft_c2r(conj(input), dims, _ADJOINT[norm], length)
    return functions.fft_c2r(input, dims, norm, length)


def _ihfftn(input, s, dim, norm):
    if input.is_complex():
        raise RuntimeError(
            hinted(
                f"Only supports floating-point dtypes, but found: {input.dtype.legacy_name}",
                "ihfftn takes real numbers",
            )
        )
    input, dims, _ = _arranged(input, s, dim, "ihfftn")
    norm = _norm(norm)
    found = functions.fft_r2c(input, dims[-1:], _ADJOINT[norm], True).conj()
    return functions.fft_c2c(found, dims[:-1], norm, False) if len(dims) > 1 else found


_TRANSFORMS = {
    "fftn": (lambda x, s, d, norm: _c2c(x, s, d, norm, True), "The discrete Fourier transform"),
    "ifftn": (lambda x, s, d, norm: _c2c(x, s, d, norm, False), "The inverse of `fft.fftn`"),
    "rfftn": (
        lambda x, s, d, norm: _r2c(x, s, d, norm, "rfftn"),
        "The transform of real values (half of it along the last dimension)",
    ),
    "irfftn": (lambda x, s, d, norm: _c2r(x, s, d, norm, "irfftn"), "The inverse of `fft.rfftn`: real values"),
    "hfftn": (
        lambda x, s, d, norm: _c2r(x, s, d, norm, "hfftn"),
        "The real transform of Hermitian values, given by half of them",
    ),
    "ihfftn": (_ihfftn, "The inverse of `fft.hfftn`"),
}


def _register_many():
    for name, (transform, doc) in _TRANSFORMS.items():
        for suffix, default in (("2", (-2, -1)), ("n", None)):
            public = name[:-1] + suffix

            def call(input, s=None, dim=default, norm=None, *, _transform=transform):
                return _transform(input, s, dim, norm)

            call.__name__ = call.__qualname__ = "fft_" + public
            where = "the last two dimensions" if suffix == "2" else "all dimensions"
            call.__doc__ = f"{doc}, in {where} or those of ``dim``, cut or filled to the lengths ``s``."
            composite(call, names=(f"fft:{public}",), out=True)


_register_many()


# ---------------------------------------------------------------- order of frequencies


def _rolled(input, dim, amount):
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    for d in dims:
        wrap_own_dim(d, input.ndim)
    return functions.roll(input, [amount(input.shape[d]) for d in dims], list(dims))


@composite(names=("fft:fftshift",))
def fft_fftshift(input, dim=None):
    """The zero frequency moved to the middle of each dimension (or those of ``dim``).

    >>> import rushlight as torch
    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _rolled(input, dim, lambda length: length // 2)


@composite(names=("fft:ifftshift",))
def fft_ifftshift(input, dim=None):
    """The inverse of `fft.fftshift`."""
    return _rolled(input, dim, lambda length: (length + 1) // 2)


def _frequencies(numbers, n, d, dtype, name):
    if n < 0 and name == "fftfreq":
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if kind.category < dtypes.FLOATING:
        raise RuntimeError(hinted(f"{name} requires a floating point or complex dtype", f"dtype is {kind!r}"))
    return (numbers * np.divide(1.0, n * d)).astype(kind.numpy)  # no values: 0 * inf is nan, as PyTorch has it


@op("fft_fftfreq(int n, float d=1.0, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("fft:fftfreq",))
class fft_fftfreq:
    """The frequencies of the coefficients of `fft.fft` for ``n`` values that are ``d`` apart: 0, 1, ..., -1 over n *
    d."""

    def forward(n, d, dtype):
        numbers = np.arange(max(n, 0))
        return _frequencies(np.where(numbers < (n + 1) // 2, numbers, numbers - n), n, d, dtype, "fftfreq")


@op("fft_rfftfreq(int n, float d=1.0, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("fft:rfftfreq",))
class fft_rfftfreq:
    """The frequencies of the coefficients of `fft.rfft`."""

    def forward(n, d, dtype):
        return _frequencies(np.arange(n // 2 + 1), n, d, dtype, "rfftfreq")
