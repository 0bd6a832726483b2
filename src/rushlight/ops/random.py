"""Random tensors: PyTorch's distributions, in place and as new tensors, and dropout."""

import math
import warnings

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..random import distributions as draw
from .create import default_kind, negative_size
from .schema import TENSOR_CLASSES
from .table import CREATE, INPLACE, composite, functions, op


@op("rand(int[]* size, *, Generator? generator=None, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class rand:
    """Uniform numbers in [0, 1).

    >>> import rushlight as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """

    def forward(size, generator=None, dtype=None):
        try:
            return draw.rand(size, default_kind(dtype), generator)
        except ValueError as error:
            raise negative_size(size, error) from None


@op("randn(int[]* size, *, Generator? generator=None, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class randn:
    """Normal numbers of mean 0 and variance 1.

    >>> import rushlight as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """

    def forward(size, generator=None, dtype=None):
        try:
            return draw.randn(size, default_kind(dtype), generator)
        except ValueError as error:
            raise negative_size(size, error) from None


@composite(names=("torch",))
def randint(*args, low=None, high=None, size=None, generator=None, dtype=None, **options):
    """Integers in [low, high): ``randint(high, size)`` or ``randint(low, high, size)``; int64 by default.

    >>> import rushlight as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.randint(10, (3,))
    tensor([4, 9, 3])
    """
    if size is None:
        if not args or not isinstance(args[-1], (tuple, list)):
            given = ", ".join(type(a).__name__ for a in args)
            raise TypeError(
                hinted(
                    f"randint() received an invalid combination of arguments - got ({given}), but expected one of:",
                    "the call takes (high, size) or (low, high, size), size being a tuple",
                )
            )
        *args, size = args
    if len(args) == 2:
        low, high = args
    elif len(args) == 1:
        if high is None:
            high = args[0]
        else:
            low = args[0]
    bounds = 0 if low is None else int(low), int(high)
    if generator is None and dtype is None and not options:
        return functions.random_integers(size, *bounds)
    return functions.random_integers(size, *bounds, generator=generator, dtype=dtype, **options)


@op(
    "randint(int[] size, int low, int high, *, Generator? generator=None, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=(),
)
class random_integers:
    """`randint` with all of its numbers."""

    def forward(size, low, high, generator, dtype):
        if low < -(1 << 63) or high >= 1 << 63:
            raise ValueError(
                hinted("Overflow when unpacking long long", "the bounds are integers in [-2**63, 2**63 - 1]")
            )
        try:
            return draw.randint(low, high, size, (dtype or dtypes.int64).numpy, generator)
        except ValueError as error:
            raise negative_size(size, error) from None


@op("randperm(int n, *, Generator? generator=None, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class randperm:
    """The integers 0 to ``n - 1`` in random order."""

    def forward(n, generator, dtype):
        return draw.randperm(n, (dtype or dtypes.int64).numpy, generator)


@op("random_target(Tensor self) -> Tensor", names=())
class random_target:
    """The tensor itself, about to be filled with random numbers: where vmap makes one for each entry of its batch."""

    def forward(self):
        return self


@op(
    "normal(int[] size, float mean, float std, *, Generator? generator=None, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=(),
)
class normal_of_size:
    """`normal` with one mean and one deviation for a whole tensor."""

    def forward(size, mean, std, generator, dtype):
        try:
            return draw.randn(size, default_kind(dtype), generator, mean, std)
        except ValueError as error:
            raise negative_size(size, error) from None


def _drawn_by(generator):
    """The argument that lets ``generator`` draw; none where it is the default one."""
    return {} if generator is None else {"generator": generator}


_NEW = {"uniform_": draw.rand, "normal_": draw.randn}  # what draws new numbers in rows, from 0 to 1 or around 0


def _random_like(input, fill, bounds, generator, dtype, device, requires_grad, memory_format):
    """A tensor in the shape, and order in memory, of ``input``, filled by the distribution ``fill``."""
    if input.__class__ in TENSOR_CLASSES and dtype is device is memory_format is None and not functions.interposers:
        array, draw_new = input._array, _NEW.get(fill)
        if draw_new is not None and array.flags.c_contiguous:
            made = functions.wrap(draw_new(array.shape, array.dtype, generator))
            return made.requires_grad_(True) if requires_grad else made
    target = functions.empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    made = _drawn(target, fill, bounds, generator)
    return made.requires_grad_(True) if requires_grad else made


def _drawn(made, fill, bounds, generator):
    """``made``, which is new, filled by a distribution; inside of transforms what they make of it."""
    if functions.interposers:
        return getattr(functions, fill)(functions.random_target(made), *bounds, **_drawn_by(generator))
    getattr(draw, fill)(made._array, *bounds, generator)
    return made


@composite(names=("torch",))
def rand_like(
    input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None,
    generator=None,
):  # fmt: skip
    """`rand` in the shape and dtype of ``input``."""
    return _random_like(input, "uniform_", (0.0, 1.0), generator, dtype, device, requires_grad, memory_format)


@composite(names=("torch",))
def randn_like(
    input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None,
    generator=None,
):  # fmt: skip
    """`randn` in the shape and dtype of ``input``."""
    return _random_like(input, "normal_", (0.0, 1.0), generator, dtype, device, requires_grad, memory_format)


@composite(names=("torch",))
def randint_like(
    input, *bounds, low=None, high=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
    memory_format=None, generator=None,
):  # fmt: skip
    """`randint` in the shape and dtype of ``input``: ``randint_like(x, high)`` or ``randint_like(x, low, high)``."""
    if len(bounds) == 2:
        low, high = bounds
    elif bounds:
        low, high = (low, bounds[0]) if high is None else (bounds[0], high)
    bounds = int(low or 0), int(high)
    return _random_like(input, "random_", bounds, generator, dtype, device, requires_grad, memory_format)


# ---------------------------------------------------------------- in place


def _filling(name, parameters, fill, doc):
    """An operation that fills its tensor with random numbers; the old values count no more."""

    class record:
        def forward(self, *arguments):
            fill(self, *arguments)

        def d_self(grad):
            return functions.zeros_like(grad)

    record.__name__, record.__doc__ = name, doc
    node = "".join(part.capitalize() for part in name.strip("_").split("_")) + "Backward0"
    op(
        f"{name}(Tensor self{parameters}, *, Generator? generator=None) -> Tensor",
        kind=INPLACE,
        names=("Tensor",),
        node=node,
    )(record)


_filling("uniform_", ", float from=0, float to=1", draw.uniform_, "Fill with uniform numbers in [from, to).")
_filling("normal_", ", float mean=0, float std=1", draw.normal_, "Fill with normal numbers.")
_filling("log_normal_", ", float mean=1, float std=2", draw.log_normal_, "Fill with numbers whose logarithm is normal.")
_filling(
    "exponential_",
    ", float lambd=1",
    draw.exponential_,
    "Fill with exponentially distributed numbers of rate ``lambd``.",
)
_filling("cauchy_", ", float median=0, float sigma=1", draw.cauchy_, "Fill with Cauchy-distributed numbers.")
_filling("geometric_", ", float p", draw.geometric_, "Fill with numbers of trials until success of probability ``p``.")


def _random_node(self, low, high, generator):
    return f"RandomBackward{2 if high is None else 0 if low else 1}"


@op(
    "random_(Tensor self, int? from, int? to, *, Generator? generator=None) -> Tensor",
    kind=INPLACE,
    names=(),
    node=_random_node,
)
class random_between_:
    """Fill with integers in a range."""

    def forward(self, low, high, generator):
        draw.random_(self, low, high, generator)

    def d_self(grad):
        return functions.zeros_like(grad)


@composite(names=("Tensor",))
def random_(input, *args, generator=None, **bounds):
    """Fill with integers: ``random_()`` of the whole range, ``random_(to)`` below ``to``, or ``random_(from, to)``."""
    low, high = bounds.get("from"), bounds.get("to")
    if len(args) == 2:
        low, high = args
    elif len(args) == 1:
        low, high = 0, args[0]
    elif low is None and high is not None:
        low = 0
    return functions.random_between_(input, low, high, **_drawn_by(generator))


def _bernoulli_node(self, p, generator):
    return "BernoulliBackward1" if hasattr(p, "_edge") else "BernoulliBackward2"


@op(
    "bernoulli_(Tensor self, any p=0.5, *, Generator? generator=None) -> Tensor",
    kind=INPLACE,
    names=("Tensor",),
    node=_bernoulli_node,
)
class bernoulli_:
    """Fill with ones (probability ``p``, a number or a tensor) and zeros."""

    def forward(self, p, generator):
        draw.bernoulli_(self, p, generator)

    def d_self(grad):
        return functions.zeros_like(grad)


@op("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", names=(), node="BernoulliBackward0")
class bernoulli_each:
    """Ones and zeros with the probabilities in the tensor."""

    def forward(self, generator):
        return draw.bernoulli(self, generator)

    def d_self(grad):
        return functions.zeros_like(grad)


@composite(out=True)
def bernoulli(input, p=None, *, generator=None):
    """Ones and zeros: with the probabilities in ``input``, or with probability ``p`` in its shape."""
    if p is None:
        return functions.bernoulli_each(input, **_drawn_by(generator))
    made = functions.empty(input.shape, dtype=input.dtype)
    if hasattr(p, "_edge"):
        made = functions.random_target(made) if functions.interposers else made
        return functions.bernoulli_(made, p, **_drawn_by(generator))
    return _drawn(made, "bernoulli_", (p,), generator)


@composite(names=("torch",), out=True)
def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, **options):
    """Normal numbers: of given means and deviations (tensors or numbers), or ``normal(mean, std, size)``."""
    if size is None:
        return functions.normal_each(mean, std, **_drawn_by(generator))
    if mean.__class__ is int or std.__class__ is int:
        mean, std = float(mean), float(std)
    options = options if generator is dtype is None else {"generator": generator, "dtype": dtype, **options}
    return functions.normal_of_size(size, mean, std, **options)


def _normal_node(mean, std, generator):
    return f"NormalBackward{hasattr(mean, '_edge') + 2 * hasattr(std, '_edge')}"


@op("normal(Operand mean, Operand std, *, Generator? generator=None) -> Tensor", names=(), node=_normal_node)
class normal_each:
    """Normal numbers with a mean and deviation for each element; their gradients are zero."""

    def forward(mean, std, generator):
        return draw.normal(mean, std, generator)

    def d_mean(grad, mean_shape):
        return grad.new_zeros(mean_shape)

    def d_std(grad, std_shape):
        return grad.new_zeros(std_shape)


@op("multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor")
class multinomial:
    """Column numbers drawn from each row with probabilities in proportion to its weights."""

    def forward(self, num_samples, replacement, generator):
        return np.ascontiguousarray(draw.multinomial(self, num_samples, replacement, generator))


@op("poisson(Tensor self, Generator? generator=None) -> Tensor", names=("torch",))
class poisson:
    """Counts with the Poisson rates in the tensor."""

    def forward(self, generator):
        return draw.poisson(self, generator)

    def d_self(grad):
        return functions.zeros_like(grad)


@op("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", names=("torch",))
class binomial:
    """Numbers of successes among ``count`` trials of probability ``prob``."""

    def forward(count, prob, generator):
        return draw.binomial(count, prob, generator)


@op(
    "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", names=("torch",), node="StandardGammaBackward0"
)
class _standard_gamma:
    """Gamma-distributed numbers with the shapes in the tensor and rate 1."""

    def forward(self, generator):
        return draw.standard_gamma(self, generator)


@op("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", names=("torch",), node="NotImplemented")
class _sample_dirichlet:
    """Dirichlet-distributed rows with the concentrations in the tensor."""

    def forward(self, generator):
        return draw.dirichlet(self, generator)


# ---------------------------------------------------------------- dropout


@op("native_dropout(Tensor self, float p, bool train) -> Tensor[]", names=(), node="MulBackward0")
class dropout_pair:
    """The tensor with elements set to zero with probability ``p``, the rest divided by ``1 - p``; and the factors."""

    def forward(self, p, train):
        if self.dtype.kind not in "fV":
            raise _no_dropout(dtypes.from_numpy(self.dtype))
        mask = draw.keep_mask_like(self, 1 - p).astype(self.dtype)
        if p < 1:
            np.divide(mask, np.array(1 - p, self.dtype), mask)
        return self * mask, mask

    def d_self(grad, result1):
        return grad * result1.detach()


def _no_dropout(dtype):
    """PyTorch's error where a tensor cannot hold the factors of dropout."""
    if dtype.is_complex:
        return NotImplementedError(
            hinted(
                f"\"bernoulli_scalar_cpu_\" not implemented for '{dtype.legacy_name}'",
                "view_as_real(x) has the real and imaginary parts as real numbers",
            )
        )
    return RuntimeError(
        hinted(
            f"result type Float can't be cast to the desired output type {dtype.legacy_name}",
            "dropout divides by 1 - p: convert the tensor with .float()",
        )
    )


def _check_probability(p):
    if not 0 <= p <= 1:
        raise ValueError(
            hinted(
                f"dropout probability has to be between 0 and 1, but got {p}", "p is the share of elements set to zero"
            )
        )


@composite(names=("torch",))
def dropout(input, p, train):
    """Elements set to zero with probability ``p`` in training, the rest scaled by ``1 / (1 - p)`` (Hinton et al., 2012)."""
    _check_probability(p)
    if not train or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input * functions.zeros((), dtype=input.dtype)
    return functions.dropout_pair(input, p, train)[0]


def _feature_shape(input):
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


def _with_noise(input, p, shape, alpha):
    """Dropout with one draw for each element of ``shape``; ``alpha`` keeps mean and variance of SELU networks."""
    noise = _drawn(functions.empty(shape, dtype=input.dtype), "bernoulli_", (1 - p,), None)
    if not alpha:
        return input * noise.div_(1 - p) if p < 1 else input * noise
    saturated = 1.7580993408473766
    scale = 1 / math.sqrt((saturated * saturated * p + 1) * (1 - p)) if p < 1 else 0.0
    shift = (noise - 1) * (saturated * scale) + saturated * scale * p
    return input * (noise * scale) + shift


@composite(names=("torch",))
def feature_dropout(input, p, train):
    """Whole channels set to zero with probability ``p``."""
    _check_probability(p)
    return input if not train or p == 0 or input.numel() == 0 else _with_noise(input, p, _feature_shape(input), False)


@composite(names=("torch",))
def alpha_dropout(input, p, train):
    """Dropout to the saturation value of SELU, keeping mean and variance (Klambauer et al., 2017)."""
    _check_probability(p)
    return input if not train or p == 0 or input.numel() == 0 else _with_noise(input, p, tuple(input.shape), True)


@composite(names=("torch",))
def feature_alpha_dropout(input, p, train):
    """`alpha_dropout` of whole channels."""
    _check_probability(p)
    return input if not train or p == 0 or input.numel() == 0 else _with_noise(input, p, _feature_shape(input), True)


def _functional(name, function, doc):
    def call(input, p=0.5, training=True, inplace=False):
        found = getattr(functions, function)(input, p, training)
        return input.copy_(found) if inplace and found is not input else found

    call.__name__ = call.__qualname__ = f"functional_{name}"
    call.__doc__ = doc
    composite(call, names=(f"nn.functional:{name}",))


_functional("dropout", "dropout", "`torch.dropout`, on in training by default.")


def _purpose(count):
    return (
        f"Note that dropout{count}d exists to provide channel-wise dropout on inputs with {count} spatial "
        f"dimension{'s' * (count > 1)}, a channel dimension, and an optional batch dimension (i.e. {count + 1}D or "
        f"{count + 2}D inputs)."
    )


def _channel_dropout(input, p, training, inplace, batched):
    """Whole channels of (N, C, ...), or of (C, ...) unless ``batched``, set to zero with probability ``p``."""
    found = functions.feature_dropout(input if batched else input.unsqueeze(0), p, training)
    found = found if batched else found.squeeze(0)
    return input.copy_(found) if inplace and found is not input else found


def _warn_of_dropout(count, ndim):
    warnings.warn(
        f"dropout{count}d: Received a {ndim}-D input to dropout{count}d, which is deprecated and will result in an error in a "
        f"future release. To retain the behavior and silence this warning, please use dropout instead. {_purpose(count)}",
        stacklevel=3,
    )


@composite(names=("nn.functional:dropout1d",))
def functional_dropout1d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, L) or (C, L) set to zero with probability ``p``."""
    _check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. {_purpose(1)}")
    return _channel_dropout(input, p, training, inplace, input.ndim == 3)


@composite(names=("nn.functional:dropout2d",))
def functional_dropout2d(input, p=0.5, training=True, inplace=False):
    """Whole planes of (N, C, H, W) set to zero with probability ``p``; three dimensions are (N, C, L)."""
    _check_probability(p)
    if input.ndim not in (3, 4):
        _warn_of_dropout(2, input.ndim)
    elif input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
            "is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
            "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _channel_dropout(input, p, training, inplace, True)


@composite(names=("nn.functional:dropout3d",))
def functional_dropout3d(input, p=0.5, training=True, inplace=False):
    """Whole volumes of (N, C, D, H, W) or (C, D, H, W) set to zero with probability ``p``."""
    _check_probability(p)
    if input.ndim not in (4, 5):
        _warn_of_dropout(3, input.ndim)
    return _channel_dropout(input, p, training, inplace, input.ndim == 5)


def _functional_alpha(name):
    def call(input, p=0.5, training=False, inplace=False):
        found = getattr(functions, name)(input, p, training)
        return input.copy_(found) if inplace and found is not input else found

    call.__name__ = call.__qualname__ = f"functional_{name}"
    call.__doc__ = f"`torch.{name}`, off by default."
    composite(call, names=(f"nn.functional:{name}",))


_functional_alpha("alpha_dropout")
_functional_alpha("feature_alpha_dropout")
