"""Random tensors: PyTorch's distributions, in place and as new tensors."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.lazy import stored_in
from ..random import distributions as draw
from .create import default_kind, negative_size
from .elementwise.checks import BOOL, COMPLEX, INTEGERS
from .schema import TENSOR_CLASSES
from .table import CREATE, ELEMENTWISE, INPLACE, composite, functions, op


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


_NEW = {"uniform_": "rand", "normal_": "randn"}  # what draws new numbers in rows, from 0 to 1 or around 0


def _random_like(input, fill, bounds, generator, dtype, device, requires_grad, memory_format):
    """A tensor in the shape, and order in memory, of ``input``, filled by the distribution ``fill``."""
    if input.__class__ in TENSOR_CLASSES and dtype is device is memory_format is None and not functions.interposers:
        array, draw_new = stored_in(input._array), _NEW.get(fill)
        if draw_new is not None and array.flags.c_contiguous:
            made = functions.wrap(getattr(draw, draw_new)(array.shape, array.dtype, generator))
            return made.requires_grad_(True) if requires_grad else made
    target = functions.empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    made = drawn(target, fill, bounds, generator)
    return made.requires_grad_(True) if requires_grad else made


def drawn(made, fill, bounds, generator):
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


def _filling(name, parameters, doc):
    """An operation that fills its tensor with random numbers; the old values count no more."""

    class record:
        def forward(self, *arguments):
            getattr(draw, name)(self, *arguments)

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


_filling("uniform_", ", float from=0, float to=1", "Fill with uniform numbers in [from, to).")
_filling("normal_", ", float mean=0, float std=1", "Fill with normal numbers.")
_filling("log_normal_", ", float mean=1, float std=2", "Fill with numbers whose logarithm is normal.")
_filling(
    "exponential_",
    ", float lambd=1",
    "Fill with exponentially distributed numbers of rate ``lambd``.",
)
_filling("cauchy_", ", float median=0, float sigma=1", "Fill with Cauchy-distributed numbers.")
_filling("geometric_", ", float p", "Fill with numbers of trials until success of probability ``p``.")


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
    made = functions.empty(input.shape, dtype=input.dtype, device=input.device)
    if hasattr(p, "_edge"):
        made = functions.random_target(made) if functions.interposers else made
        return functions.bernoulli_(made, p, **_drawn_by(generator))
    return drawn(made, "bernoulli_", (p,), generator)


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

    def d_self(grad, self, result):
        return grad * functions._standard_gamma_grad(self, result)


def _one_dtype(*tensors):
    for tensor in tensors[1:]:
        if tensor.dtype is not tensors[0].dtype:
            found, expected = tensor.dtype.legacy_name, tensors[0].dtype.legacy_name
            raise RuntimeError(
                hinted(f"Found dtype {found} but expected {expected}", "convert them to one dtype first")
            )


@op("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", kind=ELEMENTWISE, names=("torch",),
    node="StandardGammaGradBackward0", refuse=(*BOOL, *INTEGERS, *COMPLEX, "float16", "bfloat16"))  # fmt: skip
class _standard_gamma_grad:
    """The derivative of gamma numbers ``output`` by their shape: how they would move if the same numbers were drawn."""

    kernel = "_standard_gamma_grad_cpu"
    check = _one_dtype

    def numpy(self, output):
        from .implicit_gradients import standard_gamma_grad  # few programs need it

        return standard_gamma_grad(self, output).astype(self.dtype)


@op("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", kind=ELEMENTWISE, names=("torch",),
    node="NotImplemented", refuse=(*BOOL, *INTEGERS, *COMPLEX, "float16", "bfloat16"))  # fmt: skip
class _dirichlet_grad:
    """The derivative of Dirichlet shares ``x`` by their concentrations ``alpha``, of sum ``total``, over ``1 - x``."""

    kernel = "_dirichlet_grad_cpu"
    check = _one_dtype
    no_derivative = RuntimeError, "derivative for aten::_dirichlet_grad is not implemented"

    def numpy(x, alpha, total):
        from .implicit_gradients import dirichlet_grad

        return dirichlet_grad(x, alpha, total).astype(x.dtype)


@op("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", names=("torch",), node="NotImplemented")
class _sample_dirichlet:
    """Dirichlet-distributed rows with the concentrations in the tensor."""

    def forward(self, generator):
        return draw.dirichlet(self, generator)
