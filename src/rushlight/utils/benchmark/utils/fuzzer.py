"""``Fuzzer``: tensors and parameters drawn at random, the same for a seed as PyTorch's."""

from __future__ import annotations

import importlib
import math

import numpy as np

from ....base.errors import hinted

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

_DISTRIBUTIONS = ("loguniform", "uniform")
_ATTEMPTS = 1000


def _check(condition, message, hint):
    if not condition:
        raise AssertionError(hinted(message, hint))


class FuzzedParameter:
    """A number that is drawn.

    Args:
        name: what constraints and tensors call it.
        minval, maxval: the least and the most.
        distribution: "loguniform", "uniform", or a dict of values and their probabilities.
        strict: drawn once, also where a draw does not fit.
    """

    def __init__(self, name, minval=None, maxval=None, distribution=None, strict=False):
        self._name, self._minval, self._maxval, self.strict = name, minval, maxval, strict
        if isinstance(distribution, dict):
            _check(all(p >= 0 for p in distribution.values()), "Probabilities cannot be negative", f"{distribution}")
            for limit, value in (("minval", minval), ("maxval", maxval)):
                _check(
                    value is None,
                    f"When passing a custom distribution, '{limit}' must be None",
                    "the keys are the values",
                )
        else:
            _check(distribution in _DISTRIBUTIONS, f"Unknown distribution: {distribution}", f"known: {_DISTRIBUTIONS}")
        self._distribution = distribution

    @property
    def name(self):
        """What constraints and tensors call it."""
        return self._name

    def sample(self, state):
        """A value, drawn from NumPy's RandomState."""
        if isinstance(self._distribution, dict):
            values = list(self._distribution)
            return values[state.choice(np.arange(len(values)), p=tuple(self._distribution.values()))]
        low, high = self._minval, self._maxval
        if self._distribution == "loguniform":
            return min(max(int(2 ** state.uniform(low=np.log2(low), high=np.log2(high))), low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return state.uniform(low=low, high=high)


class ParameterAlias:
    """The value of a parameter that is another's."""

    def __init__(self, alias_to):
        self.alias_to = alias_to

    def __repr__(self):
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """A tensor that is drawn.

    Args:
        name: what the result calls it.
        size: numbers, or names of parameters.
        steps: the steps of a slice that it is of a larger one.
        probability_contiguous: how often its dimensions are not permuted, 0.5 by default.
        min_elements, max_elements, max_allocation_bytes: draws beyond are dropped.
        dim_parameter: the parameter that says how many dimensions it has.
        roll_parameter: unused, as in PyTorch.
        dtype: float32 by default.
        cuda: refused: there is no CUDA here.
        tensor_constructor: what makes the tensor, of ``size``, ``dtype`` and all parameters.
    """

    def __init__(
        self,
        name,
        size,
        steps=None,
        probability_contiguous=0.5,
        min_elements=None,
        max_elements=None,
        max_allocation_bytes=None,
        dim_parameter=None,
        roll_parameter=None,
        dtype=None,
        cuda=False,
        tensor_constructor=None,
    ):
        self._name, self._size, self._steps, self._dim_parameter = name, size, steps or (), dim_parameter
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements, self._max_bytes = min_elements, max_elements, max_allocation_bytes
        self._dtype, self._constructor = _torch().float32 if dtype is None else dtype, tensor_constructor
        if cuda:
            raise AssertionError(hinted("Torch not compiled with CUDA enabled", "Rushlight runs on the CPU"))

    @property
    def name(self):
        """What the result calls it."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size, dtype, **kwargs):
        """Numbers from 0 to 1, or integers from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return _torch().rand(size=size, dtype=dtype)
        return _torch().randint(1, 127, size=size, dtype=dtype)

    def _make_tensor(self, params, state):
        size, steps, allocated = self._sizes(params)
        raw = (self._constructor or self.default_tensor_constructor)(size=allocated, dtype=self._dtype, **params)
        unchanged = order = np.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and np.all(order == unchanged):
                order = state.permutation(raw.dim())
            raw = raw.permute(tuple(order)).contiguous().permute(tuple(np.argsort(order)))
        tensor = raw[tuple(slice(0, length * step, step) for length, step in zip(size, steps))]
        properties = {
            "numel": int(tensor.numel()),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }
        return tensor, properties

    def _sizes(self, params):
        """Lengths, steps, and lengths of the tensor that it is a slice of."""
        count = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]
        size, steps = (
            (tuple(params.get(value, value) for value in values) + (1,) * count)[:count]
            for values in (self._size, self._steps)
        )
        return size, steps, tuple(length * step for length, step in zip(size, steps))

    def satisfies_constraints(self, params):
        """Whether a tensor of these parameters is neither too small nor too large."""
        size, _, allocated = self._sizes(params)
        elements = math.prod(map(int, size))
        _check(elements >= 0, "Computed number of elements is negative", f"size {size}")
        taken = math.prod(map(int, allocated)) * self._dtype.itemsize
        return not (
            (self._max_elements is not None and elements > self._max_elements)
            or (self._min_elements is not None and self._min_elements > elements)
            or (self._max_bytes is not None and taken > self._max_bytes)
        )


class Fuzzer:
    """Draws tensors: ``parameters`` first, then ``tensors`` of them, until all ``constraints`` hold.

    >>> from rushlight.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer
    >>> size = FuzzedParameter("n", minval=2, maxval=9, distribution="uniform")
    >>> fuzzer = Fuzzer([size], [FuzzedTensor("x", size=("n", 3))], seed=0)
    >>> for tensors, properties, parameters in fuzzer.take(2):
    ...     print(tensors["x"].shape, parameters)
    torch.Size([7, 3]) {'n': 7}
    torch.Size([6, 3]) {'n': 6}
    """

    def __init__(self, parameters, tensors, constraints=None, seed=None):
        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters = _flat(parameters, FuzzedParameter)
        self._tensors = _flat(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        both = {each.name for each in self._parameters} & {each.name for each in self._tensors}
        if both:
            raise ValueError(hinted(f"Duplicate names in parameters and tensors: {both}", "a name means one of them"))
        self._rejections = self._total_generated = 0

    def take(self, n):
        """Draw ``n`` times: yields (tensors, their properties, parameters), dicts by name."""
        state = np.random.RandomState(self._seed)
        _torch().manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            parameters = self._generate(state)
            made = {each.name: each._make_tensor(parameters, state) for each in self._tensors}
            tensors, properties = ({name: pair[part] for name, pair in made.items()} for part in (0, 1))
            yield tensors, properties, parameters

    @property
    def rejection_rate(self):
        """Which part of what was drawn did not fit."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state):
        kept = {}
        for _ in range(_ATTEMPTS):
            drawn = {}
            for each in self._parameters:
                drawn[each.name] = kept[each.name] if each.name in kept else each.sample(state)
                if each.strict:
                    kept[each.name] = drawn[each.name]
            drawn = _resolved(drawn)
            self._total_generated += 1
            fits = all(constraint(drawn) for constraint in self._constraints)
            if fits and all(each.satisfies_constraints(drawn) for each in self._tensors):
                return drawn
            self._rejections += 1
        raise ValueError(
            hinted("Failed to generate a set of valid parameters.", f"{_ATTEMPTS} draws did not fit the constraints")
        )


def _flat(values, kind):
    return tuple(each for value in values for each in ([value] if isinstance(value, kind) else value))


def _resolved(parameters):
    """The parameters, with the values that aliases stand for."""
    found = dict(parameters)
    left = sum(isinstance(value, ParameterAlias) for value in found.values())
    while left:
        for name, value in found.items():
            if isinstance(value, ParameterAlias):
                found[name] = found[value.alias_to]
        now = sum(isinstance(value, ParameterAlias) for value in found.values())
        if now == left:
            raise ValueError(hinted(f"ParameterAlias cycle detected\n{found}", "an alias leads to a value"))
        left = now
    return found


def _torch():
    return importlib.import_module("rushlight")
