"""Views with the dimensions in another order: permute, transpose, movedim and the properties T, mT, H, mH."""

from ..base.errors import hinted
from ..base.notes import warn_once
from ..base.shapes import wrap_dim
from .table import VIEW, composite, functions, op


@op("permute(Tensor self, int[]* dims) -> Tensor", kind=VIEW)
class permute:
    """A view with the dimensions in the order ``dims``."""

    def forward(self, dims):
        try:
            return self.transpose(dims)
        except ValueError:  # refused: what follows says why
            pass
        if len(dims) != self.ndim:
            raise RuntimeError(
                hinted(
                    "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                    f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}",
                    "name every dimension once",
                )
            )
        wrapped = tuple(wrap_dim(d, self.ndim) for d in dims)
        if len(set(wrapped)) != len(wrapped):
            raise RuntimeError(hinted("permute(): duplicate dims are not allowed.", "name every dimension once"))
        return self.transpose(wrapped)

    def d_self(grad, dims):
        order = [d % len(dims) for d in dims]
        return grad.permute(sorted(range(len(order)), key=order.__getitem__))


@op("transpose(Tensor self, int dim0, int dim1) -> Tensor", kind=VIEW,
    names=("torch", "Tensor", "torch:swapaxes", "Tensor:swapaxes", "torch:swapdims", "Tensor:swapdims"))  # fmt: skip
class transpose:
    """A view with two dimensions exchanged."""

    def forward(self, dim0, dim1):
        try:
            return self.swapaxes(dim0, dim1)
        except (ValueError, OverflowError):  # 0-dim, or refused
            dim0, dim1 = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
            return self[...]

    def d_self(grad, dim0, dim1):
        return grad.transpose(dim0, dim1)


@op("t(Tensor self) -> Tensor", kind=VIEW)
class t:
    """A matrix transposed; a tensor of fewer dimensions as it is."""

    def forward(self):
        if self.ndim > 2:
            raise RuntimeError(
                hinted(
                    f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D",
                    "use .mT to transpose the last two dimensions, or permute()",
                )
            )
        return self.T

    def d_self(grad):
        return grad.t()


@composite
def movedim(input, source, destination):
    """A view with dimensions ``source`` moved to the places ``destination``.

    >>> import rushlight as torch
    >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """
    if isinstance(source, int) != isinstance(destination, int):
        raise TypeError(
            hinted(
                f"movedim() received an invalid combination of arguments - got ({type(source).__name__}, "
                f"{type(destination).__name__}), but expected one of:",
                "source and destination are two ints, or two tuples of ints",
            )
        )
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(
            hinted(
                f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same "
                f"number of dims as destination ({list(destination)} dims)",
                "every dimension that moves needs one place to go",
            )
        )
    wrapped = [[wrap_dim(d, input.ndim) for d in dims] for dims in (source, destination)]
    _refuse_repeated(wrapped[0], source, "source")
    _refuse_repeated(wrapped[1], destination, "destination")
    source, destination = wrapped
    order = [d for d in range(input.ndim) if d not in source]
    for place, dim in sorted(zip(destination, source)):
        order.insert(place, dim)
    return input.permute(order) if input.ndim else functions.alias(input)


def _refuse_repeated(wrapped, dims, what):
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(
            hinted(f"movedim: repeated dim in `{what}` ({list(dims)})", "a dimension moves once, to a place of its own")
        )


@composite
def moveaxis(input, source, destination):
    """`movedim` under NumPy's name."""
    return input.movedim(source, destination)


def _mirrored(name, doc, order):
    """A property that views the tensor with its dimensions in another order."""

    return name, property(order, doc=doc)


def _reversed_dims(x):
    if x._array.ndim == 2:
        return x.permute(1, 0)
    if x.ndim:
        warn_once(_REVERSES)
    else:
        _warn_of_no_dims(x, "Tensor.T", _IDENTITY)
    return x.permute(tuple(range(x.ndim - 1, -1, -1)))


def _check_matrices(x, name):
    if x.ndim < 2:
        raise RuntimeError(
            hinted(
                f"tensor.{name} is only supported on matrices or batches of matrices. Got {x.ndim}-D tensor.",
                "it exchanges the last two dimensions",
            )
        )


_IDENTITY, _CONJUGATE = "This function is the identity in these cases.", "Consider using x.conj()."
_REVERSES = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
    "future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse "
    "the dimensions of a tensor."
)


def _warn_of_no_dims(x, name, advice):
    """PyTorch's warning for a tensor that has no dimensions to transpose."""
    if not x.ndim:
        warn_once(f"{name} is deprecated on 0-D tensors. {advice}")


def _matrix_transposed(x):
    _warn_of_no_dims(x, "Tensor.mT", _IDENTITY)
    if not x.ndim:
        return functions.alias(x)
    _check_matrices(x, "mT")
    return x.transpose(-2, -1)


def _hermitian(x):
    _warn_of_no_dims(x, "Tensor.H", _CONJUGATE)
    if x.ndim not in (0, 2):
        raise RuntimeError(
            hinted(
                f"tensor.H is only supported on matrices (2-D tensors). Got {x.ndim}-D tensor."
                f"{' For batches of matrices, consider using tensor.mH' * (x.ndim > 2)}",
                "mH takes batches of matrices",
            )
        )
    return x.adjoint()


def _batch_hermitian(x):
    _warn_of_no_dims(x, "Tensor.mH", _CONJUGATE)
    if x.ndim:
        _check_matrices(x, "mH")
    return x.adjoint()


def _part(name, doc):
    """The property ``tensor.real`` or ``tensor.imag``: writing to it writes those parts."""

    def part(x):
        return getattr(functions, name)(x)

    def write(x, value):
        part(x).copy_(value)

    return property(part, write, doc=doc)


# Attributes of Tensor, attached by the tensor room.
PROPERTIES = dict(
    [
        _mirrored("T", "The tensor with its dimensions in reverse order, as a view.", _reversed_dims),
        _mirrored("mT", "The tensor with its last two dimensions exchanged, as a view.", _matrix_transposed),
        _mirrored("H", "A matrix transposed and conjugated.", _hermitian),
        _mirrored("mH", "Matrices transposed and conjugated.", _batch_hermitian),
        ("real", _part("real", "The real parts of a complex tensor, as a view; a real tensor itself.")),
        ("imag", _part("imag", "The imaginary parts of a complex tensor, as a view.")),
    ]
)


@composite
def adjoint(input):
    """The last two dimensions transposed, conjugated where complex."""
    if input.ndim:
        _check_matrices(input, "adjoint()")
    swapped = input.transpose(-2, -1) if input.ndim else input
    return swapped.conj() if input.is_complex() else swapped


@composite(names=("Tensor",))
def dim_order(input, *, ambiguity_check=False):
    """The dimensions in the order of memory, the outermost first."""
    strides = input.stride()
    return tuple(sorted(range(input.ndim), key=lambda d: (-strides[d], d)))
