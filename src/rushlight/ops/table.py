"""The op table: one record for each operation, and the decorators that write records.

A record is a class whose docstring is the operation's documentation. The schema names the arguments with PyTorch's
types; `tensor/binding.py` makes from it the function, the method, the in-place and `out=` forms.

    @op("mul(Tensor self, Operand other) -> Tensor", kind=BINARY, inplace=True)
    class mul:
        '''Product, element by element.'''
        numpy = np.multiply
        def d_self(grad, other): return grad * conj(other)
        def d_other(grad, self): return grad * conj(self)

What a record may hold:

- ``numpy``: a ufunc or function on arrays already promoted to one dtype (kinds UNARY, BINARY, ELEMENTWISE); if it is no
  ufunc, ``ufunc`` may name the one that does the same for two same-dtype operands and default options (fast paths use it);
- ``backwards``: (kind BINARY) errors name the shape of the second operand first;
- ``with_number``: (kind BINARY) the same for a floating array and a Python number, where that is done another way;
- ``element(m, ...)``: the same as a formula of plain operators and functions of ``m`` (``m.exp``, ``m.where``, ...);
  half-precision operands are computed in float32;
- ``forward(...)``: for every other kind: gets the bound arguments, tensors as NumPy arrays (None where an optional one
  is absent, lists of arrays for ``Tensor[]``), and returns an array or a tuple of arrays, of the right dtype;
- ``d_NAME(...)``: the gradient of tensor argument NAME. Its parameters are taken by name: ``grad`` (of output 0),
  ``grads`` (a tuple, one for each output, None where nothing flowed), any argument of the schema, ``result``,
  ``result0``, ``result1``, ... (an argument of the schema called ``grad`` hides the first: such rules use ``grads``),
  ``shape`` (of the first argument), ``NAME_shape`` (of tensor argument NAME; a list where that is one), ``layout``
  (shape, strides and storage offset of the first argument), where the rule needs no more of it. Naming a tensor is what saves it. Everything is a Tensor (or a plain value): write with
  operators, methods and ``functions``, so that derivatives of any order follow. Elementwise rules may return a
  gradient of the broadcast shape: it is summed to the operand's shape;
- ``gradients(...)``: instead of several ``d_NAME``: one rule that returns a tuple with the gradient of each tensor
  argument in schema order; it may also name ``needs``, a tuple of bools in the same order;
- ``unshown``: tensor arguments for which ``gradients`` gives None always: the nodes do not show them;
- ``gate``: True where a gradient passes unchanged where the result is above 0, and becomes 0 elsewhere (`relu`);
- ``check(...)``: (elementwise kinds) gets all bound arguments, tensors as Tensors, and raises for what PyTorch refuses;
- ``check_written(...)``: as ``check``, for what the in-place form alone refuses;
- ``kernel``: the name in PyTorch's ``"..." not implemented for`` messages where it is not the operation's with _cpu, or
  a function of the call's arrays that gives it;
- ``numbers``: (elementwise kinds) a dict of the arguments whose Python numbers are refused where the dtype computed in has no
  place for them: name -> OWN, WIDE or RELAXED (below). Other numbers are wrapped, as operands of an operator are;
- ``aside``: NumPy's letters for the first operands (b, i, u, f, c) beside which numbers, even complex ones, do not count for
  the dtype;
- ``inplace_node``: the node's name where the in-place form has another one;
- ``rounds_inside``: (elementwise kinds) whether, with these options, half precision is rounded within the formula, too: then
  ``numpy`` does so, and no kernel, which would compute in float32 up to the end, is made;
- ``wide_numbers``: True where a number, or a tensor of one element, that comes second beside half precision is not rounded to
  half precision itself;
- ``joins``: True where the arguments are a list of tensors and a dimension, 0 by default;
- ``light``: True for a formula of so few steps that cutting large arrays into blocks does not pay;
- ``patterns(...)``: (elementwise kinds, losses) takes the operands as arrays and returns the arrays after which the result is laid out in
  memory, first the one that decides; () where it lies row by row. By default all operands, in the order of the arguments;
- ``number_first_by_rows``: (elementwise kinds) True where the result lies row by row if the first operand is a number;
- ``by_columns``: numbers of the results that are matrices laid out column by column, as LAPACK writes them;
- ``bits(conj, neg, ...)``: (views) the lazy bits of the result, by those of the tensor and the other arguments (`base.lazy`); by
  default the same;
- ``by_rows``: True where the result lies row by row, however the operands lie;
- ``frees_values``: True where plain values that a call keeps count as saved tensors (index arrays): backward frees them;
- ``untracked``: True where the result never requires grad, as if the operands were detached;
- ``into_differentiable``: (in place) True where nothing is recorded if the tensor that is written holds integers or bools;
- ``beside``: tensor arguments that PyTorch's backward function takes without the gradient depending on them: under
  ``create_graph`` the gradients require grad where one of these does (`op_node.BesideNode`), and a call keeps them;
- ``beside_as``: what backward through such gradients brings to those arguments: "zeros" (default), None (nothing, as if they had
  not been used), or an error (class and sentence);
- ``keeps``: arguments and results that PyTorch keeps for backward, too, though no rule here reads them: writes into them
  after the call are refused;
- ``constants``: tensor arguments that may not require grad: name -> the function that PyTorch's message names, or a function
  of the bound values that gives it;
- ``no_derivative``: the error, an exception class and PyTorch's sentence, of a backward call that comes to an operation
  without derivatives (its own name is in it by default), or a function of the bound values that gives them;
- ``tracked``: how many of its results require grad, unless all do; the others are constants, also for derivative rules;
- ``whole(array)`` and ``whole_gradient(grad, shape)``: (reductions) the result over all elements of a float32 or float64
  array, as a 0-dim array, and its gradient: the short path of a call without arguments;
- ``samples()``: a few calls, for tests: yields ``(args, kwargs)`` with NumPy arrays in place of tensors.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from . import contents
from .contents import BOTH

# Kinds: how the arguments of an operation become its result.
UNARY = "unary"  # one tensor, element by element
BINARY = "binary"  # two tensors or numbers, broadcast and promoted
ELEMENTWISE = "elementwise"  # any number of tensors, broadcast and promoted
FUSED = "fused"  # an element formula run at once; without derivatives of its own it is recorded in its parts
VIEW = "view"  # the result looks into the memory of the first argument
FUNCTION = "function"  # anything else: forward gets arrays
CREATE = "create"  # no tensor arguments: makes a new one, takes dtype/device/requires_grad/...
INPLACE = "inplace"  # writes into its first argument and returns it; its name ends in _

# How elementwise kinds choose the dtype of computation and result.
PROMOTE = "promote"  # the promoted dtype
FLOAT = "float"  # as PROMOTE, integers and bools become the default float (sin, div, ...)
COMPARE = "compare"  # computed in the promoted dtype, the result is bool
LOGICAL = "logical"  # as COMPARE, and written into leaves that require grad too
MASKED = "masked"  # the first operand is a mask and keeps its dtype, the others are promoted
INTEGRAL = "integral"  # as PROMOTE, floating operands are refused (bitwise operations)

# Where a number has to have a place (``numbers``); `base.scalars` has the conversions.
OWN = "own"  # in the dtype computed in
WIDE = "wide"  # as OWN, and for half precision in float32
RELAXED = "relaxed"  # as OWN, and half precision takes infinities for numbers too large

ALL = 1 << 62  # results that require grad, where a record does not say how many


def _of_all(method):
    """A method of a dictionary of records, once all of them are there."""

    def call(records):
        records.load()
        return method(records)

    return call


class Records(dict):
    """Records by name. The module of one is imported when it is first asked for, all modules when somebody goes through them."""

    def __init__(self, found_in):
        super().__init__()
        self.modules = {
            name: module for module, kinds in found_in.items() for names in kinds.values() for name in names.split()
        }

    def __missing__(self, name):
        import_module(self.modules[name])
        if not dict.__contains__(self, name):
            raise KeyError(f"{self.modules[name]} writes no {name} into the table: run python tools/write_contents.py")
        return self[name]

    def __contains__(self, name):
        return name in self.modules or super().__contains__(name)

    def get(self, name, default=None):
        return self[name] if name in self else default  # noqa: SIM401  (this is that method)

    def load(self):
        """Import every module that holds one of the records."""
        for module in dict.fromkeys(self.modules.values()):
            import_module(module)

    __len__, __iter__, keys, values, items = map(
        _of_all, (dict.__len__, dict.__iter__, dict.keys, dict.values, dict.items)
    )


TABLE = Records(contents.OPERATIONS)  # name -> Op
COMPOSITES = Records(contents.COMPOSITES)  # name -> Composite
INPLACE_LISTS = Records(contents.INPLACE_LISTS)  # name -> (function, names of the lists it writes)

# name in `functions` -> a `tensor.names.Pending`, whose ``make`` sets it there.
EXPECTED: dict[str, Any] = {}

# name in `functions` -> the module that sets it there when it is imported.
PROVIDED = dict.fromkeys(
    ("current_dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "tangent_of"),
    "rushlight.func.forward_levels",
)
PROVIDED |= dict.fromkeys(("sparse_rows", "sparse_created", "sparse_from_parts", "sparse_parts"), "rushlight.sparse")
PROVIDED |= dict.fromkeys(
    ("nested_from_mask", "nested_parts", "jagged_from_parts", "strided_from_parts"), "rushlight.nested"
)
PROVIDED["vmap"] = "rushlight.func.vmap"
PROVIDED["scaled_dot_product_attention"] = "rushlight.nn.functional.attention"
PROVIDED["apply_through_levels"] = "rushlight.func.custom"


class _Functions:
    """Every function of the table under its name, callable with Tensors; filled by ``tensor/binding.py``.

    It lets derivative rules, composites and the rooms below use operations without importing the tensor room. Functions are
    made when first asked for; the names in `PROVIDED` come from rooms below that are imported then.
    """

    def __getattr__(self, name):
        pending = EXPECTED.get(name)
        if pending is not None:
            pending.make()
        elif name in PROVIDED:
            import_module(PROVIDED[name])
        if name not in self.__dict__:
            raise AttributeError(f"the op table has no function '{name}'")
        return self.__dict__[name]


functions: Any = _Functions()


class Described:
    """What a public function is made from, and its ``__wrapped__``: `inspect.signature` asks it, `inspect.getsource` what it wraps."""

    __slots__ = ()

    @property
    def __signature__(self):
        """The documented signature of the function, made when somebody asks."""
        return import_module("rushlight.ops.signatures").signature_of(self)


def _same_bits(conj, neg, *arguments):
    return conj, neg


class Op(Described):
    """One operation: its schema, how NumPy computes it, its derivatives and its names."""

    # What a record holds only where it is something else; the docstring above tells what each is.
    forward = numpy = element = check = check_written = inplace_node = rounds_inside = with_number = samples = (
        backwards
    ) = None
    whole = whole_gradient = gradients = by_columns = by_rows = patterns = None
    wide_numbers = number_first_by_rows = light = joins = gate = untracked = into_differentiable = frees_values = False
    numbers: dict[str, str] = {}
    constants: dict[str, Any] = {}
    beside: tuple[str, ...] = ()
    beside_as: str | tuple[type, str] | None = "zeros"
    keeps: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    aside = ""
    tracked = ALL
    bits = staticmethod(_same_bits)

    def __init__(self, schema, record, kind, dtype_rule, inplace, names, node, refuse):
        self.__wrapped__ = record
        self.schema, self.kind, self.dtype_rule, self.inplace, self.names = schema, kind, dtype_rule, inplace, names
        self.name = name = record.__name__
        self.doc = record.__doc__
        self.kernel = name + "_cpu"
        self.no_derivative = (NotImplementedError, f"the derivative for '{name}' is not implemented.")
        self.derivatives = {}
        self._take(record.__dict__)
        if self.by_columns is not None:
            self.forward = _by_columns(self.forward, self.by_columns)
        elif self.by_rows and kind != INPLACE:
            self.forward = _by_rows(self.forward)
        self.plans = {}  # which tensor arguments need gradients, as bits -> autograd's Plan
        self.node_base = None  # the base class of its nodes, where they have one of their own
        # Whether a recorded call runs the formula on Tensors: its derivatives are those of the formula's parts.
        self.in_parts = kind == FUSED and not self.differentiable
        self.node_name = node or camel_case(name) + "Backward0"
        self.refuse = frozenset(refuse)  # names of dtypes that PyTorch's kernel lacks

    def _take(self, body):
        """What the record holds."""
        self.ufunc = body.get("numpy")
        if not isinstance(self.ufunc, np.ufunc):
            self.ufunc = None
        for key, value in body.items():
            if key in _PARTS:
                setattr(self, key, value)
            elif key[:2] == "d_":
                self.derivatives[key[2:]] = value

    def rule_for(self, **options):
        """The dtype rule for these values of the arguments that are no tensors."""
        return self.dtype_rule if self.dtype_rule.__class__ is str else self.dtype_rule(**options)

    @property
    def differentiable(self):
        return bool(self.derivatives) or self.gradients is not None

    def __repr__(self):
        return f"<op {self.schema}>"


def _by_rows(forward):
    """``forward`` with its results, one or two, copied row by row where they lie otherwise."""

    def call(*values):
        found = forward(*values)
        return tuple(map(rows, found)) if found.__class__ is tuple else rows(found)

    return call


def _by_columns(forward, numbers):
    """``forward`` with its results of these numbers copied column by column where they lie otherwise, the others row by row."""

    def call(*values):
        found = forward(*values)
        if found.__class__ is not tuple:
            return columns(found)
        return tuple([columns(each) if number in numbers else rows(each) for number, each in enumerate(found)])

    return call


def rows(array):
    """The array, copied row by row where it lies otherwise."""
    return np.ascontiguousarray(array) if array.ndim > 1 else array


def columns(matrices):
    """Matrices, copied column by column where they lie otherwise; vectors as they are."""
    if matrices.ndim < 2:
        return matrices
    return np.ascontiguousarray(matrices.swapaxes(-1, -2)).swapaxes(-1, -2)


# The attributes of a record that an `Op` takes over as they are.
_PARTS = frozenset(name for name in vars(Op) if name[0] != "_") - {"rule_for", "differentiable"}
_PARTS |= {"ufunc", "kernel", "no_derivative"}


class InplaceForm(Described):
    """What the in-place form of an entry of the table, given by name, is made from."""

    __slots__ = ("of",)

    def __init__(self, name):
        self.of = name

    @property
    def entry(self):
        """The entry itself."""
        return TABLE[self.of] if self.of in TABLE else COMPOSITES[self.of]

    @property
    def name(self):
        """The name of the form."""
        return self.of + "_"

    @property
    def __wrapped__(self):
        return self.entry.__wrapped__


class Composite(Described):
    """An operation written with other operations: a Python function of Tensors."""

    def __init__(self, function, names, inplace, out, explains):
        self.function, self.names, self.inplace, self.out, self.explains = function, names, inplace, out, explains
        self.__wrapped__ = function
        self.name = function.__name__


def camel_case(name):
    """``log_softmax`` -> ``LogSoftmax``, ``log1p`` -> ``Log1P``: the way node classes are named."""
    joined = "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))
    return "".join(c.upper() if before.isdigit() else c for before, c in zip(" " + joined, joined))


def _enter(records, entry):
    """Write an entry into its part of the table; a name is there once."""
    if dict.__contains__(TABLE, entry.name) or dict.__contains__(COMPOSITES, entry.name):
        raise ValueError(f"the table already has an operation {entry.name}")
    records[entry.name] = entry


def op(schema, *, kind=FUNCTION, dtype=PROMOTE, inplace=False, names=BOTH, node=None, refuse=()):
    """Write a class into the table as an operation.

    Args:
        schema: ``"name(Tensor self, int dim=-1, *, bool flag=False) -> Tensor"``. Types: Tensor, Tensor?, Tensor[],
            Operand (a Tensor or a number; elementwise kinds), Scalar, int, int?, int[], int[]? (also accepts one int), int[2] (one int is repeated), ``int[]*`` (also accepts varargs), float, bool,
            str, dtype?, Generator?, any. The class's name is the operation's.
        kind: one of the kinds above.
        dtype: one of the dtype rules above (elementwise kinds only), or a function of the arguments that are no tensors.
        inplace: whether ``name_`` exists too.
        names: where the function is public: "torch", "Tensor", "nn.functional", "special", "linalg", "fft".
            Other names of the same function are written "torch:alias" or "special:erf".
        node: the graph node's class name where it is not CamelCase(name) + "Backward0"; or a function of the bound
            argument values that gives it (PyTorch's overloads for tensors and numbers have names of their own).
        refuse: names of dtypes for which PyTorch says ``"x_cpu" not implemented for 'Half'``.
    """

    def register(record):
        entry = Op(schema, record, kind, dtype, inplace, names, node, refuse)
        _enter(TABLE, entry)
        return entry

    return register


def composite(function=None, *, names=BOTH, inplace=False, out=False, explains=False, short=None, fits=None):
    """Write a function of Tensors into the table.

    Args:
        names: as of `op`.
        inplace: whether ``name_`` exists too, which copies the result into self.
        out: whether the public function takes ``out=``: tensors that the result is written into. The Tensor method
            and ``functions.NAME`` stay as they are. Where 100 ns count, a function has an argument ``out`` of its own.
        explains: whether wrong arguments lead to PyTorch's errors in the function itself, by ``functions.refuse`` or by those of
            the one operation that it calls. Others are public with a guard around them, which costs 60 ns a call.
        short: the name of an operation that calls by place are, where its short path takes them and ``fits``, if given, holds:
            the public function is that short path then, and knows the composite for the rest.
        fits: a condition on the arrays of its tensors, ``array0`` and so on, in Python.
    """

    def register(function):
        entry = Composite(function, names, inplace, out, explains)
        entry.short, entry.fits = short, fits
        _enter(COMPOSITES, entry)
        return function

    return register if function is None else register(function)


def inplace_op(*, writes):
    """Write a function of lists of arrays and numbers into the table; it writes in place to the lists in ``writes``.

    ``functions.NAME`` takes lists of Tensors. Nothing is tracked; version counters of what is written go up by one.
    """

    def register(function):
        INPLACE_LISTS[function.__name__] = (function, frozenset(writes))
        return function

    return register


# ---------------------------------------------------------------- helpers for derivative rules


def conj(value):
    """The complex conjugate of a tensor or number; a real one is returned as it is."""
    array = getattr(value, "_array", None)
    if array is None:
        return value.conjugate()
    return functions.conjugate(value) if array.dtype.kind == "c" else value


def is_half(dtype):
    """Whether a NumPy dtype has 16 bits of floating point, computed in float32 and rounded once."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def widened(array):
    """``array`` in float32 where it is half precision, else itself."""
    return array.astype(np.float32) if is_half(array.dtype) else array
