"""``rushlight.find_nonfinite()``: which operation made the first NaN or infinity, forward or backward, and from what."""

from __future__ import annotations

import linecache
import sys
import warnings

import numpy as np

from ..autograd.hints import place_of
from ..autograd.holdings import saved_arrays, saved_values
from ..autograd.modes import OFF, SPECIAL, state
from ..autograd.names import is_module, is_tensor, modules_in_scope
from ..base import dtypes
from ..base.lazy import stored_in
from ..base.user_code import PACKAGE, to_user, user_location, written
from .interposers import INTERPOSERS, Interposer, below

ACTIONS = ("raise", "warn", "collect")
MOST_REPORTS = 100
_WRAPPERS = frozenset(
    ("call", "any_call", "cast", "operate", "run", "run_inplace", "write_out", "forward")
)  # functions that are called for others
GIVEN = "NaN given"  # the kind of a report on an operation that made none itself
_UNWRITTEN = frozenset(("empty_like", "new_empty", "new_empty_strided"))  # whose results hold whatever was there

# What usually is behind it, by the name of the operation or of its node.
_ADVICE = {
    ("log", "log2", "log10", "Log"): "log(0) is -inf and the log of a negative number NaN: use x.clamp_min(eps).log(), or "
    "log_softmax, logsumexp or a loss that takes logits",
    ("div", "reciprocal", "Div", "Reciprocal"): "a number divided by 0 is infinite and 0/0 is NaN: add a small number to the divisor, or "
    "choose safe values with where() before the division",
    ("sqrt", "rsqrt", "norm", "Sqrt", "Rsqrt", "Norm", "LinalgVectorNorm", "Std", "Var"): "the square root and norms have an infinite "
    "slope at 0, and no value below: add a small number inside, (x + eps).sqrt()",
    ("exp", "expm1", "pow", "cosh", "sinh", "square", "mul", "matmul", "mm", "addmm", "linear", "linear_rows", "sum", "Exp", "Pow", "Mul"): "the numbers grew too "
    "large for their type: subtract the maximum first, scale the inputs, or compute in a wider type",
    ("softmax", "log_softmax", "scaled_dot_product_attention"): "a row in which every element is -inf has no softmax: leave one "
    "element of each row unmasked",
    ("to", "copy", "to_copy"): "a number is too large for the type that it is converted to (float16 ends at 65504): scale it, or "
    "use bfloat16 or float32",
    ("acos", "asin", "atanh", "log1p", "Acos", "Asin", "Atanh", "Log1P"): "the input lies outside of the function's domain or on its "
    "edge, where the slope is infinite: clamp it",
}  # fmt: skip
_GENERAL_ADVICE = (
    "look at the ranges above: a 0 in a divisor, a negative number under a root, or a number too large for its type"
)


class NonFiniteError(FloatingPointError):
    """An operation made a NaN or infinity out of values that held none; ``report`` has the facts."""

    def __init__(self, report):
        super().__init__(str(report))
        self.report = report


class ValueRange:
    """The values of one tensor: ``name``, ``shape``, ``dtype``, ``low`` and ``high`` (finite ones), ``nans``, ``infs`` (of
    either sign) and, among these, ``minus_infs``."""

    def __init__(self, name, array):
        self.name, self.shape = name, array.shape
        self.dtype = dtypes.from_numpy(array.dtype).name
        plain = array if array.dtype.isbuiltin == 1 else array.astype(np.float32)
        self.nans = int(np.isnan(plain).sum())
        finite = plain[np.isfinite(plain)]
        self.infs = plain.size - finite.size - self.nans
        self.minus_infs = 0 if plain.dtype.kind == "c" else int((plain == -np.inf).sum())
        finite = np.abs(finite) if finite.dtype.kind == "c" else finite
        self.low, self.high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)

    def __str__(self):
        span = "no finite element" if self.low is None else f"{self.low:.6g} to {self.high:.6g}"
        counts = ((self.nans, "NaN"), (self.infs - self.minus_infs, "inf"), (self.minus_infs, "-inf"))
        bad = "".join(f", {count} {word}" for count, word in counts if count)
        name = f"{self.name}: " if self.name else ""
        return f"{name}shape {list(self.shape)}, {self.dtype}, {span}{bad}"


class Report:
    """One operation that made a NaN or infinity.

    ``operation`` is its name, or that of the node whose derivative it was; ``phase`` "forward" or "backward"; ``kind``
    "NaN", "inf" ("-inf" where no infinity is positive) or "NaN given"; ``inputs`` and ``results`` are `ValueRange`s; ``file`` and ``line`` the user's (of the forward call);
    ``module`` names the module that it ran in, ``function`` the one of ours that the user called; or they are None.
    """

    def __init__(self, operation, phase, kind, inputs, results, location, module=None, function=None):
        self.operation, self.phase, self.kind, self.inputs, self.results = operation, phase, kind, inputs, results
        self.file, self.line = location
        self.module, self.function = module, function

    def __str__(self):
        if self.kind == GIVEN:
            lines = [f"{self.operation} was given NaN that no operation seen here had made"]
        else:
            made = sum(each.nans if self.kind == "NaN" else each.infs for each in self.results)
            count = sum(int(np.prod(each.shape)) for each in self.results)
            lines = [f"{self.operation} made {self.kind} in the {self.phase} pass: {made} of {count} elements"]
        code = linecache.getline(self.file, self.line).strip()
        lines.append(f"  at {written((self.file, self.line))}{f': {code}' if code else ''}")
        around = " of ".join(filter(None, (self.function and f"{self.function}()", self.module)))
        if around:
            lines.append(f"  in {around}")
        lines += [f"  input {each}" for each in self.inputs]
        lines += [f"  result{' ' if each.name else ': '}{each}" for each in self.results]
        return "\n".join([*lines, f"hint: {self._advice()}"])

    def _advice(self):
        if self.kind == GIVEN:
            return "it was in the data, came from an optimizer's step, or was made before find_nonfinite() was entered"
        plain = self.operation.partition("Backward")[0].rstrip("_")
        return next((advice for names, advice in _ADVICE.items() if plain in names), _GENERAL_ADVICE)


class find_nonfinite:
    """A context that finds the operation that makes the first NaN or infinity, in the forward or the backward pass.

    An operation is to blame if its result holds a NaN and no input does, or an infinity and no input holds one
    (numbers given as arguments count: filling a mask with -inf is meant). The report names the operation, its inputs with
    their ranges, and the line of the user's code; in backward, the line of the forward call whose derivative it was. Every
    operation of this thread is looked at, so code inside runs slowly; outside nothing is slower. Two kinds of writes are not
    looked at, optimizers' steps and ``out=``: what they made counts as given.

    Args:
        action: "raise" a `NonFiniteError` at the first one, "warn" of each, or "collect" them in silence.
        inf: whether infinities count; else NaN alone.

    The object that ``as`` names has ``reports``, a list of `Report`, at most 100, and ``given``: the first operation that
    was given a NaN which nothing inside had made, or None. It is to blame for nothing; where nothing else is, leaving the
    context warns of it.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 0.0], requires_grad=True)
    >>> with torch.find_nonfinite(action="collect") as found:
    ...     y = x.log()
    ...     x.sqrt().sum().backward()
    >>> for report in found.reports:
    ...     print(report.phase, report.operation, report.kind, report.inputs[-1])
    forward log -inf self: shape [2], float32, 0 to 1
    backward SqrtBackward0 inf kept result: shape [2], float32, 0 to 1
    """

    def __init__(self, action="raise", inf=True):
        if action not in ACTIONS:
            raise ValueError(f"action must be one of {', '.join(map(repr, ACTIONS))}, not {action!r}")
        self.action, self.inf, self.reports, self.given = action, inf, [], None

    def __enter__(self):
        self._watcher = watcher = _Watcher(self)
        self._before = state.anomaly, state.check_nan, state.run_node, state.recording
        run_node, interposers, recording = watcher.run_node, INTERPOSERS, SPECIAL if state.recording else OFF
        # In one row without calls, for Ctrl-C: autograd/modes.py.
        state.anomaly, state.check_nan, state.run_node, state.recording = True, False, run_node, recording
        interposers[:0] = (watcher,)  # below the transforms around: there the values are plain
        return self

    def __exit__(self, kind, value, trace):
        state.anomaly, state.check_nan, state.run_node, state.recording = self._before
        INTERPOSERS.remove(self._watcher)
        state.update()
        if kind is None and self.given is not None and not self.reports and self.action != "collect":
            warnings.warn(str(self.given), RuntimeWarning, stacklevel=to_user())

    def look(self, operation, phase, inputs, results, location, scalars=()):
        """Report the operation if ``results`` hold what ``inputs``, pairs of a name and an array, do not."""
        bad = [each for each in results if not np.isfinite(each[1]).all()]
        if not bad:
            return
        given, found = [ValueRange(*each) for each in inputs], [ValueRange(*each) for each in bad]
        given_nan = any(each.nans for each in given) or any(number != number for number in scalars)
        given_inf = any(each.infs for each in given) or any(abs(number) == float("inf") for number in scalars)
        if any(each.nans for each in found) and not given_nan:
            kind = "NaN"
        elif self.inf and any(each.infs for each in found) and not given_inf:
            kind = "-inf" if all(each.infs == each.minus_infs for each in found) else "inf"
        else:
            if given_nan and self.given is None:
                self.given = Report(operation, phase, GIVEN, given, found, location)
            return
        if len(self.reports) < MOST_REPORTS:
            around = (_module_around(), _function_around(operation)) if phase == "forward" else ()
            self.reports.append(Report(operation, phase, kind, given, found, location, *around))
        if self.action == "raise":
            raise NonFiniteError(self.reports[-1])
        if self.action == "warn":
            warnings.warn(str(self.reports[-1]), RuntimeWarning, stacklevel=to_user())


class _Watcher(Interposer):
    """Sees every operation, and every node that the engine runs."""

    def __init__(self, search):
        super().__init__()
        self.search, self.inside_rule = search, False

    def call(self, op, schema, values, again, around, writes=False):
        if self.inside_rule or op.name in _UNWRITTEN:
            with below(self):
                return again(values)
        inputs, scalars = _arrays_among(schema, values)
        if writes:
            inputs = [(name, array.copy()) for name, array in inputs]
        with below(self):
            found = again(values)
        if inputs:
            results = found if isinstance(found, (tuple, list)) else (found,)
            named = [(f"{number}" if len(results) > 1 else "", each) for number, each in enumerate(results)]
            made = [(name, array) for name, each in named for array in _floats_of(each)]
            name = op.name + "_" * (writes and not op.name.endswith("_"))
            phase = "forward" if state.task is None else "backward"
            self.search.look(name, phase, inputs, made, user_location(), scalars)
        return found

    def run_node(self, node, grads):
        """Apply ``node``. A table operation's rule is judged as a whole; operation by operation what cannot be:

        a custom Function's backward, and a rule inside vmap, where only the operations below it see values.
        """
        arrays = [grad._array for grad in grads if grad is not None] + saved_arrays(node)
        as_a_whole = not hasattr(node, "needs_input_grad") and all(type(array) is np.ndarray for array in arrays)
        before, self.inside_rule = self.inside_rule, as_a_whole
        known = len(self.search.reports)
        try:
            found = node.apply(*grads)
        finally:
            self.inside_rule = before
        if len(self.search.reports) > known:  # found inside: a backward within a backward, or a line of the user's
            return found
        given = [(f"gradient {n}", array) for n, grad in enumerate(grads) for array in _floats_of(grad)]
        kept = zip([f"kept {name}" for name, _ in saved_values(node)], saved_arrays(node))
        given += [(name, array) for name, array in kept if _holds_floats(array)]
        made = [(f"gradient {n}", array) for n, grad in enumerate(found) for array in _floats_of(grad)]
        self.search.look(node.name(), "backward", given, made, place_of(node) or user_location())
        return found


def _floats_of(value):
    """The array of a tensor that can hold NaN, as a list of one; empty for anything else."""
    array = stored_in(value._array) if is_tensor(value) else None
    return [array] if _holds_floats(array) else []


def _holds_floats(array):
    """Whether ``array`` can hold NaN and can be read: inside vmap, a tensor's array cannot."""
    return type(array) is np.ndarray and dtypes.is_differentiable(array.dtype)


def _arrays_among(schema, values):
    """``(name, array)`` of the tensors among bound arguments, and the numbers."""
    inputs, scalars = [], []
    for argument, value in zip(schema.arguments, values):
        several = isinstance(value, (list, tuple))
        for number, each in enumerate(value if several else (value,)):
            name = f"{argument.name}[{number}]" if several else argument.name
            inputs += [(name, each._array)] if is_tensor(each) and type(each._array) is np.ndarray else []
            scalars += [each] if isinstance(each, (float, complex)) else []
    return inputs, scalars


def _function_around(operation):
    """The function of ours that the user called, where its name says more than that of the operation; else None."""
    frame, found = sys._getframe(2), None  # above `look`
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        name = frame.f_code.co_name
        found = found if name.startswith("_") or name in _WRAPPERS else name
        frame = frame.f_back
    return None if found == operation else found


def _module_around():
    """The innermost module whose forward runs, in words: "`model.2` (ReLU)"; None where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        module = frame.f_locals.get(code.co_varnames[0]) if code.co_name == "forward" and code.co_argcount else None
        if is_module(module):
            for name, outer in reversed(modules_in_scope()):
                for path, each in outer.named_modules():
                    if each is module:
                        return f"`{f'{name}.{path}'.rstrip('.')}` ({type(module).__name__})"
            return type(module).__name__
        frame = frame.f_back
    return None
