"""The Tensor: a NumPy array with a place in the graph."""

from __future__ import annotations

import contextvars
import copy
import functools
import warnings

import numpy as np

from ..autograd import gradients, leaves
from ..autograd.engine import execute
from ..autograd.fitting import keep_form
from ..autograd.hooks import HookDict, add_hook, hooks_of, warn_if_has_hooks
from ..autograd.names import described
from ..autograd.node import DETACHED, INFERENCE, LEAF, UNTOUCHED, AccumulateGrad, edge_of, leads_nowhere
from ..autograd.views import View, known_edge
from ..base import dtypes
from ..base.arrays import address_of, deep_copy, element_strides, storage_bytes
from ..base.device import CPU, META, strided
from ..base.dtypes import BY_NUMPY
from ..base.errors import hinted, kind_name
from ..base.layouts import LAYOUT_PLUGS
from ..base.lazy import LazyArray, as_meta, bits_of, is_meta, meta_array, plain, rebuilt, stored_in
from ..base.size import Size
from ..ops.table import functions
from .attributes import TensorBase, TensorMeta, held_by
from .interposers import INTERPOSERS
from .printing import format_scalar, format_tensor

# ``quiet().run(function, *args)`` calls it with NumPy's floating-point warnings off: inf and nan are values here. A context
# (contextvars) holds the setting, so that the user's own is not touched, and no call costs what ``np.errstate`` does. Each
# call has a copy: no context is entered twice, and Python may run operations within an operation, in a finaliser, a signal's
# handler or a debugger.
_without_warnings = contextvars.Context()
_without_warnings.run(np.seterr, all="ignore")
quiet = _without_warnings.copy


def quietly(function):
    """``function`` with NumPy's floating-point warnings off."""
    return lambda *args: quiet().run(function, *args)


class Tensor(TensorBase, metaclass=TensorMeta):
    """An n-dimensional array that remembers how it was computed.

    Made by ``torch.tensor(data)``, ``torch.zeros(2, 3)``, ... ; ``Tensor(2, 3)`` and ``Tensor([1., 2.])`` are PyTorch's
    legacy forms. Where ``requires_grad`` is set, operations record a graph, and ``backward()`` fills ``grad``.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    # Defaults of what an instance may hold; only `_array` is always set.
    _array = None  # the elements
    _edge = None  # where its gradient flows: None, LEAF, (node, output number) or a View
    _grad = None
    _grad_call = None  # a leaf's: the `Freed` of the backward call that wrote into `_grad` last
    _base = None  # the tensor that it is a view of
    _version_counter = UNTOUCHED
    _accumulator = None  # weak reference to a leaf's AccumulateGrad node
    _hooks = None  # its hooks since the last write in place; those of a leaf run from here, others from its node
    _post_accumulate_hooks = None
    _grad_dtype = leaves.OWN_DTYPE
    _names = None
    _resizable = True  # False: its memory is NumPy's too, or some buffer's
    _tangent = None  # forward mode: the tangent, while a dual level is open
    _tangent_base = None  # forward mode: the tensor whose tangent a view has a part of, where that is not `_base`
    _gated_by = None  # the node of a `relu` that its gradient has passed already
    __array_priority__ = 1000  # NumPy's operators leave mixed expressions to ours

    def __new__(cls, *args, **kwargs):
        return functions.legacy_constructor(cls, args, kwargs) if args or kwargs else functions.empty_instance(cls)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return NotImplemented

    # ------------------------------------------------------------ autograd

    @property
    def requires_grad(self):
        """Whether gradients are computed for this tensor. Settable on leaves of floating or complex dtype."""
        edge = self._edge
        if edge is None:
            return False
        return edge.requires_grad if edge.__class__ is View else True

    @requires_grad.setter
    def requires_grad(self, value):
        if not isinstance(value, bool):
            raise RuntimeError(hinted("requires_grad must be a bool", f"got {type(value).__name__}"))
        if value:
            leaves.refuse_computed(self)
        leaves.set_requires_grad(self, value, "only Tensors of floating point and complex dtype can require gradients")

    def requires_grad_(self, requires_grad=True):
        """Set ``requires_grad`` in place and return the tensor."""
        if not isinstance(requires_grad, bool):
            kind = kind_name(requires_grad)
            raise TypeError(
                hinted(
                    f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}",
                    "pass True or False",
                )
            )
        leaves.set_requires_grad(self, requires_grad)
        return self

    @property
    def grad_fn(self):
        """The graph node that made this tensor; None for leaves."""
        edge = self._edge
        if edge is None or edge is LEAF:
            return None
        if edge.__class__ is not tuple:
            edge = edge.resolve(self)
            if leads_nowhere(edge) or edge[0].__class__ is AccumulateGrad:
                return None
        return edge[0]

    @property
    def is_leaf(self):
        """Whether no recorded operation made this tensor."""
        return self.grad_fn is None

    @property
    def output_nr(self):
        edge = self._edge
        edge = edge if edge is None or edge.__class__ is tuple or edge is LEAF else edge.resolve(self)
        return edge[1] if edge.__class__ is tuple else 0

    @property
    def grad(self):
        """The gradient that ``backward`` accumulated, or None. Kept for leaves and after ``retain_grad()``."""
        found = self._grad
        if found is None and self._edge is not None and (edge := known_edge(self)) and not self.retains_grad:
            warnings.warn(
                hinted(
                    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                    "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
                    "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
                    f"{described(self)} was made by {edge[0].name()}; call retain_grad() on it before backward()",
                ),
                stacklevel=2,
            )
        return found

    @grad.setter
    def grad(self, value):
        if value is not None:
            leaves.check_grad(self, value)
        self._grad, self._grad_call = value, None

    @grad.deleter
    def grad(self):
        self._grad = None

    grad_dtype = property(leaves.grad_dtype, leaves.set_grad_dtype)

    @property
    def retains_grad(self):
        """Whether this non-leaf tensor keeps its gradient."""
        edge = known_edge(self)
        return edge is not None and edge[0].hooks is not None and edge[1] in edge[0].hooks.retained

    def retain_grad(self):
        """Let ``backward`` keep the gradient of this non-leaf tensor in ``grad``."""
        gradients.retain_grad(self)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Compute the gradients of this tensor with respect to the graph's leaves and add them to their ``grad``.

        Args:
            gradient: the gradient of some final value with respect to this tensor, of its shape; may be left away for a
                tensor of one element.
            retain_graph: keep saved values for another backward call; default: the value of ``create_graph``.
            create_graph: record the gradients' computation, for derivatives of higher order.
            inputs: tensors to accumulate into; default: every leaf that was used.
        """
        if create_graph or gradient is not None or inputs is not None:
            gradients.backward(self, gradient, retain_graph, create_graph, inputs=inputs)
        else:
            edge = self._edge
            if edge.__class__ is not tuple:
                edge = gradients.root_edge(self, 0)
            execute((edge,), (gradients.implicit_gradient(self),), retain_graph, False)

    def register_hook(self, hook):
        """Call ``hook(grad)`` when the gradient of this tensor is known; a Tensor that it returns replaces it."""
        leaves.check_hookable(self)
        if self._hooks is None:
            hooks = self._hooks = HookDict()
            if not self.is_leaf:
                node, number = edge_of(self)
                hooks_of(node).on_tensors.setdefault(number, []).append(hooks)
                self._hooks = hooks  # also where that looked for the node of a view whose base was written into
        return add_hook(self._hooks, hook)

    @property
    def _backward_hooks(self):
        """The tensor's hooks, by the id of their handles; None before the first, and after a write in place. Settable."""
        return self._hooks

    @_backward_hooks.setter
    def _backward_hooks(self, hooks):
        self._hooks = hooks

    @property
    def _post_accumulate_grad_hooks(self):
        """The hooks that run after accumulation, by the id of their handles; None where there are none."""
        return self._post_accumulate_hooks

    def register_post_accumulate_grad_hook(self, hook):
        """Call ``hook(tensor)`` on a leaf after its ``grad`` was accumulated."""
        leaves.check_hookable(self)
        if not self.is_leaf:
            raise RuntimeError(
                hinted(
                    "post accumulate grad hooks cannot be registered on non-leaf tensors",
                    f"{described(self)} was made by {self.grad_fn.name()}: use register_hook, which is given the gradient",
                )
            )
        if self._post_accumulate_hooks is None:
            self._post_accumulate_hooks = HookDict()
        return add_hook(self._post_accumulate_hooks, hook)

    def detach(self):
        """The same memory outside the graph: a view that requires no gradient."""
        alias = self._alias()
        if self._version_counter is UNTOUCHED:
            functions.share_version(self, alias)
        return functions.in_class_of(self, alias)

    def detach_(self):
        """Take this tensor out of the graph, in place."""
        leaves.detach_in_place(self)
        return self

    @property
    def data(self):
        """The same memory, outside the graph and with a version counter of its own. Assignment swaps the memory."""
        found = functions.wrap(self._array)
        found._version_counter = INFERENCE if self._version_counter is INFERENCE else UNTOUCHED
        return functions.in_class_of(self, found)

    @data.setter
    def data(self, value):
        leaves.check_data(self, value)
        keep_form(self, value._array)
        if value.dtype is not self.dtype:
            self._accumulator = None  # a leaf of another kind collects gradients anew
        self._array = value._array

    def _alias(self):
        """A new untracked Tensor on the same memory and version counter."""
        alias = functions.wrap(self._array)
        alias._version_counter = self._version_counter
        if not self._resizable:
            alias._resizable = False
        return alias

    def _become(self, view):
        """Look into the memory of ``view``, in its shape, from now on; `unsqueeze_` and its like do."""
        self._array = view._array
        if view._tangent is not None:
            self._tangent = view._tangent

    @property
    def _version(self):
        counter = self._version_counter
        if counter is INFERENCE:
            raise RuntimeError(
                hinted(
                    "Inference tensors do not track version counter.",
                    "this tensor was made inside torch.inference_mode()",
                )
            )
        return counter.value % DETACHED

    def _is_tracked(self):
        """Whether derivatives of any kind flow through this tensor; inside transforms, at any of their levels."""
        return self.requires_grad or self._tangent is not None

    def _is_view(self):
        return self._base is not None

    # ------------------------------------------------------------ shape and type

    @property
    def shape(self):
        shape = self._array.shape
        return _SIZES.get(shape) or _kept_size(shape)

    def size(self, dim=None):
        """The shape, or the length of dimension ``dim``."""
        shape = self._array.shape
        if dim is None:
            return Size(shape)
        if dim.__class__ is not int:
            dim = _as_dim("size", dim)
        if not -len(shape) <= dim < len(shape):
            functions.wrap_own_dim(dim, len(shape))
        return shape[dim]

    @property
    def ndim(self):
        return self._array.ndim

    def dim(self):
        """The number of dimensions."""
        return self._array.ndim

    ndimension = dim

    def numel(self):
        """The number of elements."""
        return self._array.size

    nelement = numel

    def stride(self, dim=None):
        """Steps between neighbours, in elements: of every dimension, or of ``dim``."""
        strides = element_strides(self._array)
        if dim is None:
            return strides
        if dim.__class__ is not int:
            dim = _as_dim("stride", dim)
        return strides[functions.wrap_own_dim(dim, len(strides))]

    def storage_offset(self):
        """Where in its storage the first element lies, in elements."""
        return storage_bytes(stored_in(self._array))[1] // self._array.itemsize

    def data_ptr(self):
        """The address of the first element."""
        return address_of(stored_in(self._array)) if self._array.size and not is_meta(self._array) else 0

    def element_size(self):
        """Bytes of one element."""
        return self._array.itemsize

    @property
    def itemsize(self):
        return self._array.itemsize

    @property
    def nbytes(self):
        return self._array.size * self._array.itemsize

    @property
    def dtype(self):
        try:
            return BY_NUMPY[self._array.dtype]
        except KeyError:
            return dtypes.from_numpy(self._array.dtype)

    @property
    def device(self):
        return META if is_meta(self._array) else CPU

    @property
    def layout(self):
        return strided

    def is_floating_point(self):
        """Whether the elements are floating-point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self):
        """Whether the elements are complex."""
        return self._array.dtype.kind in "cW"

    def is_signed(self):
        """Whether the dtype has negative numbers."""
        return self.dtype.is_signed

    @property
    def is_meta(self):
        """Whether the tensor has shape and dtype alone, and no elements."""
        return is_meta(self._array)

    @property
    def is_cpu(self):
        return not is_meta(self._array)

    # Other layouts and devices: of the classes that have them, True; properties, as classes with a __torch_function__ are asked for them.
    is_sparse, is_sparse_csr, is_quantized, is_mkldnn, is_nested = (property(lambda self: False) for _ in range(5))
    is_cuda, is_mps, is_xpu, is_ipu, is_maia, is_mtia, is_vulkan, is_xla = (
        property(lambda self: False) for _ in range(8)
    )

    def get_device(self):
        """The number of the device: -1 for the CPU."""
        return -1

    def is_inference(self):
        """Whether the tensor was made in inference mode."""
        return self._version_counter is INFERENCE

    def is_pinned(self):
        """Whether the memory is pinned for a device: never."""
        return False

    def is_shared(self):
        return False

    def is_conj(self):
        """Whether the memory is read conjugated: `conj` sets the bit, or takes it away."""
        return bits_of(self._array)[0]

    def is_neg(self):
        """Whether the memory is read negated, as in the imaginary parts of a lazy conjugate."""
        return bits_of(self._array)[1]

    def has_names(self):
        """Whether a dimension has a name."""
        return False

    # ------------------------------------------------------------ Python's protocols

    def __repr__(self, *, tensor_contents=None):
        text = self._text("tensor(" if type(self) is Tensor else type(self).__name__ + "(", tensor_contents)
        return f"Parameter({text})" if getattr(self, "_is_param", False) else text

    def _text(self, prefix, contents=None):
        try:
            node = self.grad_fn
            name = None if node is None else type(node).__name__
        except RuntimeError:  # a view whose history an in-place write made invalid
            name = "Invalid"
        tangent = functions.tangent_of(self) if INTERPOSERS else None
        meta = is_meta(self._array)
        return format_tensor(
            self._array if meta else plain(self._array),
            device="meta" if meta else None,
            dtype_name=self.dtype.name,
            requires_grad=self.requires_grad,
            grad_fn_name=name,
            default_dtype_name=dtypes.get_default_dtype().name,
            prefix=prefix,
            contents=contents,
            tangent=None if tangent is None else format(tangent),
        )

    def __format__(self, spec):
        if is_meta(self._array):
            return object.__format__(self, spec)
        return format_scalar(plain(self._array), spec, owner=self, plain=type(self) is Tensor)

    def __hash__(self):
        return id(self)

    def __len__(self):
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self):
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self):
        return self.flip(0) if self._array.ndim else self

    def __contains__(self, element):
        if isinstance(element, (Tensor, int, float, complex)):
            return bool((element == self).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __dir__(self):
        return sorted(set(super().__dir__()))

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                hinted(
                    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
                    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                    "https://github.com/pytorch/pytorch/pull/103001",
                    f"{described(self)} was made by {self.grad_fn.name()}: copy its detach(), and keep results out of modules",
                )
            )
        array = self._array
        if is_meta(array):
            made = functions.wrap(as_meta(array))
        else:
            made = functions.wrap(array.resolved() if array.__class__ is LazyArray else deep_copy(array, memo))
        made.__class__ = type(self)
        memo[id(self)] = made
        if self.requires_grad:
            made._edge = LEAF
        if self._grad is not None:
            made._grad = copy.deepcopy(self._grad, memo)
        extra = {k: v for k, v in self.__dict__.items() if not k.startswith("_")}
        if extra:
            made.__dict__.update(copy.deepcopy(extra, memo))
        return made

    def __reduce_ex__(self, protocol):
        if self._hooks:
            warn_if_has_hooks(self)
        if is_meta(self._array):
            return _rebuild_meta, (type(self), self.shape, self.dtype, self._array.strides, self.requires_grad)
        bits = bits_of(self._array)
        parts = type(self), stored_in(self._array), self.requires_grad
        return _rebuild, (*parts, *bits) if any(bits) else parts

    def __setstate__(self, state):
        held_by(self).update(state)

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))


def _rebuild(cls, array, requires_grad, conj=False, neg=False):
    made = wrap(rebuilt(dtypes.interned(array), conj, neg))
    made.__class__ = cls
    if requires_grad:
        made._edge = LEAF
    return made


def _rebuild_meta(cls, shape, dtype, strides, requires_grad):
    made = wrap(meta_array(shape, dtype.numpy, strides))
    made.__class__ = cls
    if requires_grad:
        made._edge = LEAF
    return made


_SIZES = {}  # the sizes that were asked for last, by the shapes of arrays: making one takes as long as three look-ups


def _kept_size(shape):
    if len(_SIZES) > 1024:
        _SIZES.clear()
    found = _SIZES[shape] = Size(shape)
    return found


# A Tensor that holds nothing yet: whoever makes one sets `_array`, and `_edge`, which is found faster there than in the class.
new_tensor = functools.partial(object.__new__, Tensor)
# Instances keep in place what the first ones have; what later ones hold besides makes each of them a dictionary.
_first = new_tensor()
for _name in ("_array", "_edge", "_version_counter", "_base", "_grad", "_grad_call", "_accumulator", "_resizable"):
    setattr(_first, _name, None)


def wrap(array):
    """An untracked Tensor on ``array``, without a copy; a NumPy scalar becomes a 0-dim array."""
    made = new_tensor()
    made._array = array if array.__class__ is np.ndarray or array.__class__ is LazyArray else _otherwise(made, array)
    made._edge = None
    return made


def _otherwise(made, array):
    """`wrap` for what is no array in memory: ``made`` becomes a tensor of another layout, where it is one."""
    layout = LAYOUT_PLUGS.get(array.__class__)
    if layout is None:
        return np.asarray(array)
    made.__class__ = layout.tensor_class
    return array


def _as_dim(name, dim):
    """The dimension that the method ``name`` was asked for by something else than an int, if it is one to PyTorch."""
    functions.refuse_method(name, dim)
    return dim.__index__()


def method(function=None, *, name=None):
    """Make a function a method of Tensor, under its own name or ``name``."""

    def attach(function):
        own = name or function.__name__
        setattr(Tensor, own, function)
        function.__module__, function.__name__ = "rushlight", own  # where users and pickle find it
        function.__qualname__ = f"Tensor.{own}"
        return function

    return attach if function is None else attach(function)
