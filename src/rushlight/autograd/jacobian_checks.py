"""What gradcheck compares: derivatives by finite differences, backwards and in forward mode, whole or in one projection."""

from __future__ import annotations

import itertools
from functools import partial

from ..base.dtypes import promote_types
from ..base.errors import hinted
from ..ops.table import functions
from ..random import Generator
from . import forward_ad
from .gradients import grad


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise."""


class Comparison:
    """One function at one point: its outputs, the inputs to differentiate by, and how exact derivatives must be.

    Args:
        func: gives a tuple of tensors; complex ones only if ``forward``.
        inputs: all arguments of ``func``; real ones only if ``forward``.
        settings: the arguments of `gradcheck`.
        parts: the numbers of the complex outputs (inputs, if ``forward``) that ``func`` takes the real or imaginary part of.
        part: "real" or "imaginary", if there are such parts.
        forward: compare forward mode instead of backward.
    """

    def __init__(self, func, inputs, settings, parts=(), part=None, forward=False):
        self.func, self.inputs, self.settings = func, inputs, settings
        self.parts, self.part, self.forward = parts, part, forward
        self.results = floating(func(*inputs))
        self.tracked = [number for number, result in enumerate(self.results) if result.requires_grad]
        self.positions = [i for i, value in enumerate(inputs) if is_tensor(value) and value.requires_grad]
        self.tensors = [inputs[i] for i in self.positions]

    def evaluate(self):
        """Copies of the outputs."""
        return [result.detach().clone() for result in floating(self.func(*self.inputs))]

    # ------------------------------------------------------------ every element

    def check_elements(self):
        """Compare the Jacobian of every output by every input."""
        numerical = [self.numerical(tensor) for tensor in self.tensors]
        if not self.tracked:
            if any((matrix != 0).any() for matrices in numerical for matrix in matrices):
                raise expected_zero()
            return
        analytical = self.forward_jacobians() if self.forward else None
        for number, which in enumerate(self.tracked):
            if self.forward:
                found = [matrices[which] for matrices in analytical]
            else:
                found = self.repeated(partial(self.backward_jacobians, which))
            for place, (matrix, matrices) in enumerate(zip(found, numerical)):
                self.compare(matrix, matrices[which], (number, place), self.settings.atol)

    def numerical(self, tensor):
        """For each output the central differences: a matrix with a row for each element of ``tensor``."""
        eps, memory = self.settings.eps, tensor.data  # its writes do not count as versions
        found = []
        for direction in (1.0, 1j) if tensor.is_complex() else (1.0,):
            rows = []
            for place in itertools.product(*map(range, tensor.shape)):
                before = memory[place].clone()
                memory[place] = before + eps * direction
                high = self.evaluate()
                memory[place] = before - eps * direction
                low = self.evaluate()
                memory[place] = before
                rows.append([(a - b).reshape(-1) / (2 * eps) for a, b in zip(high, low)])
            found.append(self.stacked(rows, tensor))
        return found[0] if len(found) == 1 else [x + 1j * y for x, y in zip(*found)]

    def stacked(self, rows, tensor):
        if rows:
            return [functions.stack(column) for column in zip(*rows)]
        return [functions.zeros((0, result.numel()), dtype=tensor.dtype) for result in self.results]

    def backward_jacobians(self, which):
        """For each input the gradients of every element of output ``which``: a row for each element of the input."""
        output, rows = self.results[which], []
        for place in itertools.product(*map(range, output.shape)):
            start = functions.zeros_like(output.detach())
            start[place] = 1
            rows.append([g.reshape(-1) for g in self.gradients(output, start)])
        if not rows:
            return [functions.zeros((tensor.numel(), 0), dtype=tensor.dtype) for tensor in self.tensors]
        return [functions.stack(column, 1) for column in zip(*rows)]

    def gradients(self, output, start):
        found = grad(output, self.tensors, start, retain_graph=True, allow_unused=True)
        for gradient, tensor in zip(found, self.tensors):
            if gradient is not None and gradient.shape != tensor.shape:
                raise GradcheckError(
                    hinted("Analytical gradient has incorrect size", "see the shape of the rule's result")
                )
            if gradient is not None and self.settings.check_grad_dtypes and gradient.dtype != tensor.dtype:
                raise GradcheckError(
                    hinted("Gradient has dtype mismatch", f"{gradient.dtype} for a {tensor.dtype} input")
                )
        return [functions.zeros_like(t) if g is None else g.detach() for g, t in zip(found, self.tensors)]

    def repeated(self, backward):
        """What ``backward`` returns, after a second call has returned nearly the same."""
        first, second = backward(), backward()
        tolerance = self.settings.nondet_tol
        if any(a.numel() and (a - b).abs().max().item() > tolerance for a, b in zip(first, second)):
            raise GradcheckError(
                hinted(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                    "values, although analytical gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {tolerance}.",
                    "backward must not draw random numbers or change what it saved",
                )
            )
        return first

    def forward_jacobians(self):
        """For each input the derivatives of all outputs in the direction of each of its elements."""
        found = []
        for position, tensor in zip(self.positions, self.tensors):
            rows = []
            for place in itertools.product(*map(range, tensor.shape)):
                tangent = functions.zeros_like(tensor.detach())
                tangent[place] = 1
                rows.append([each.reshape(-1) for each in self.tangents({position: tangent})])
            found.append(self.stacked(rows, tensor))
        return found

    def tangents(self, given):
        """The tangents of the outputs in forward mode, where the inputs at some positions have the ``given`` ones."""
        with forward_ad.dual_level():
            values = [value.detach() if is_tensor(value) else value for value in self.inputs]
            for position, tangent in given.items():
                values[position] = forward_ad.make_dual(values[position], tangent)
            pairs = [forward_ad.unpack_dual(result) for result in floating(self.func(*values))]
            return [functions.zeros_like(value) if tangent is None else tangent.detach() for value, tangent in pairs]

    # ------------------------------------------------------------ one projection

    def check_projection(self):
        """Compare ``v . J u`` for unit vectors ``u`` and ``v``: two calls of the function for each input."""
        generator = Generator()
        directions = [
            [_unit(tensor, generator) for _ in range(2 if tensor.is_complex() else 1)] for tensor in self.tensors
        ]
        weights = [None if self.forward else _unit(result, generator) for result in self.results]
        numerical = [self.differences(*pair) for pair in zip(self.tensors, directions)]
        if not self.tracked:
            tolerance = self.settings.nondet_tol
            if any(part.numel() and part.abs().max().item() > tolerance for parts in numerical for part in parts):
                raise expected_zero()
            return
        moved = None
        if self.forward:
            pairs = zip(self.positions, directions, self.tensors)
            moved = [self.tangents({at: step[0].reshape(tensor.shape)}) for at, step, tensor in pairs]
        for number, which in enumerate(self.tracked):
            weight, output = weights[which], self.results[which]
            if not self.forward:
                start = weight.reshape(output.shape)
                found = self.repeated(partial(self.gradients, output, start))
            for place, steps in enumerate(directions):
                expected = numerical[place][which]
                if self.forward:
                    value, scale = moved[place][which].reshape(-1), steps[0].sum()
                else:
                    value, expected = _along(found[place], steps), (expected * weight).sum()
                    scale = weight.sum() * sum(step.sum() for step in steps)
                self.compare(value, expected, (number, place), self.settings.atol * abs(scale.item()))

    def differences(self, tensor, directions):
        """For each output its difference along ``directions``, the imaginary one of a complex tensor times 1j."""
        eps, memory, before = self.settings.eps, tensor.data, tensor.detach().clone()
        found = []
        for direction, factor in zip(directions, (1.0, 1j)):
            step = direction.reshape(tensor.shape) * (eps * factor)
            memory.copy_(before + step)
            high = self.evaluate()
            memory.copy_(before - step)
            low = self.evaluate()
            memory.copy_(before)
            found.append([(a - b).reshape(-1) / (2 * eps) * factor for a, b in zip(high, low)])
        return found[0] if len(found) == 1 else [x + y for x, y in zip(*found)]

    # ------------------------------------------------------------ the verdict

    def compare(self, analytical, numerical, where, atol):
        kind = promote_types(analytical.dtype, numerical.dtype)
        if functions.allclose(analytical.to(kind), numerical.to(kind), self.settings.rtol, atol):
            return
        of, by = where
        split = (by if self.forward else of) in self.parts
        prefix = f"While considering the {self.part} part of complex {'inputs' if self.forward else 'outputs'} only, "
        mode = "computed with forward mode " if self.forward else ""
        raise GradcheckError(
            hinted(
                f"{prefix if split else ''}Jacobian {mode}mismatch for output {of} with respect to input {by},\n"
                f"numerical:{numerical}\nanalytical:{analytical}\n",
                "the rule of an operation in the function is wrong, or the function is not smooth there, or not in float64",
            )
        )


def is_tensor(value):
    """Whether ``value`` is a tensor."""
    return hasattr(value, "_edge")


def floating(results):
    """The tensors of floating or complex dtype among the results of a function."""
    results = results if isinstance(results, (tuple, list)) else (results,)
    return [each for each in results if is_tensor(each) and (each.is_floating_point() or each.is_complex())]


def expected_zero():
    """The error for a function that changes with its inputs and does not say so."""
    return GradcheckError(
        hinted(
            "Numerical gradient for function expected to be zero",
            "no output requires grad, but the outputs change with the inputs: something in the function detaches",
        )
    )


def _unit(tensor, generator):
    """A positive random vector of length one, as long as ``tensor`` has elements; the global generator is left alone."""
    dtype = tensor.real.dtype if tensor.is_complex() else tensor.dtype
    vector = functions.rand(tensor.numel(), generator=generator).to(dtype)
    return vector / vector.norm()


def _along(gradient, directions):
    """The sum of a gradient along a direction; of a complex one real and imaginary part along one each."""
    gradient = gradient.reshape(-1)
    if len(directions) == 1:
        return (gradient * directions[0]).sum()
    return (gradient.real * directions[0]).sum() + 1j * (gradient.imag * directions[1]).sum()
