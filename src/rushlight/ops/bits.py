"""Numbers taken apart: mantissa and exponent, and a hash of their bits."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .reduce import axes_of, refuse_empty_dims
from .results import named_result
from .table import composite, functions, is_half, op, widened


@op("frexp(Tensor self) -> Tensor[]", names=(), node="FrexpBackward0")
class frexp_parts:
    """The mantissa, of size 0.5 to 1, and the exponent of each number."""

    def forward(self):
        if not (self.dtype.kind == "f" or is_half(self.dtype)):
            raise RuntimeError(
                hinted("torch.frexp() only supports floating-point dtypes", "convert the tensor with .float()")
            )
        mantissa, exponent = np.frexp(widened(self))
        return np.asarray(mantissa).astype(self.dtype), np.asarray(exponent).astype(np.int32)

    def d_self(grad, result1):
        return grad / result1.exp2()


@composite(out=True)
def frexp(input):
    """Each number as ``mantissa * 2 ** exponent``, the mantissa's size between 0.5 and 1.

    >>> import rushlight as torch
    >>> torch.frexp(torch.tensor([3.0])).exponent
    tensor([2], dtype=torch.int32)
    """
    return named_result("frexp", "mantissa exponent")(*functions.frexp_parts(input))


@op("hash_tensor(Tensor self, int[]? dim=None, bool keepdim=False, int mode=0) -> Tensor", names=())
class hash_bits:
    """The bits of the elements, as 64-bit numbers, combined by exclusive or."""

    by_rows = True

    def forward(self, dim, keepdim, mode):
        if self.size == 0:
            if not dim:
                raise RuntimeError(
                    hinted(
                        "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                        "with the 'dim' argument.",
                        f"the shape is {list(self.shape)}",
                    )
                )
            refuse_empty_dims(self.shape, dim, "hash_tensor")
        if mode != 0:
            raise RuntimeError(hinted(f"Unknown hash_tensor mode: {mode}", "mode 0, exclusive or, is the only one"))
        axes = axes_of(dim, self.ndim)
        if self.dtype.kind == "c" and self.size:
            name = dtypes.from_numpy(self.dtype).legacy_name
            message = f"\"xor_sum_cpu\" not implemented for '{name}'"
            raise NotImplementedError(hinted(message, "hash the real and the imaginary part"))
        wide = (self.real if self.dtype.kind == "c" else self).astype(
            np.int64 if self.dtype.kind in "biu" else np.float64
        )
        return np.asarray(np.bitwise_xor.reduce(wide.view(np.uint64), axis=axes, keepdims=keepdim), np.uint64)


@composite(names=("torch",), out=True)
def hash_tensor(input, dim=None, *, keepdim=False, mode=0):
    """A number (uint64) made of the bits of all elements, or of those along ``dim``, that changes when one of them does."""
    return functions.hash_bits(input, dim, keepdim, mode)
