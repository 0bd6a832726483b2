"""Parameter and Buffer: the tensors a module owns; and their uninitialised forms, for lazy modules."""

from __future__ import annotations

from typing import Any, Self, SupportsIndex

from ..base.device import DeviceLike
from ..base.dtypes import DType
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.classes import register_plain_class


class _ParameterMeta(type(Tensor)):
    """Lets tensors of other classes count as parameters once one was made from them."""

    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is to be trained: assigned to an attribute of a Module, it is found by ``parameters()``.

    Args:
        data (Tensor): the values; the parameter shares their memory. Default: empty
        requires_grad (bool): whether gradients are recorded. Default: ``True``

    Follows ``torch.nn.Parameter``.

    >>> import rushlight as torch
    >>> torch.nn.Parameter(torch.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = functions.empty(0)
        parameter = data.detach()
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError(
                hinted(
                    "Only Tensors of floating point and complex dtype can require gradients",
                    f"the data is {data.dtype}; convert it with .float(), or pass requires_grad=False",
                )
            )
        if type(data) in (Tensor, Parameter):
            parameter.__class__ = cls
        else:  # a Tensor subclass stays what it is, and is marked
            parameter.__class__ = type(data)
            parameter._is_param = True
        return parameter.requires_grad_(requires_grad)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: `__new__` has made it; a subclass may take what arguments it likes there."""

    def __deepcopy__(self, memo: Any) -> Self:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        text = (
            self._text("tensor(") if type(self) is Parameter else f"Parameter({self._text(type(self).__name__ + '(')})"
        )
        return "Parameter containing:\n" + text


register_plain_class(Parameter)


class _BufferMeta(type(Tensor)):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module keeps without training it: assigned to an attribute, it is registered as a buffer.

    Args:
        data (Tensor): the values; the buffer shares their memory. Default: empty
        persistent (bool): whether the module's ``state_dict`` holds it. Default: ``True``

    Follows ``torch.nn.Buffer``; what is made is a plain Tensor with a mark.

    >>> import rushlight as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> module.state_dict()
    OrderedDict([('mean', tensor([0., 0.]))])
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = functions.empty(0)
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


class UninitializedTensorMixin:
    """What a tensor without a size can do: be moved, cast, and, by ``materialize``, be given a size."""

    def materialize(self, shape: Any, device: DeviceLike = None, dtype: DType | None = None) -> None:
        """Become an ordinary tensor of ``shape`` with arbitrary values.

        >>> import rushlight as torch
        >>> weight = torch.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape
        torch.Size([2, 3])
        """
        self.data = functions.empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def numel(self) -> None:
        raise _used_too_early("numel", type(self))

    def share_memory_(self) -> None:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return type(self)._rebuild, (self.requires_grad, self.data.dtype)

    @classmethod
    def _rebuild(cls, requires_grad, dtype):
        return cls(requires_grad=requires_grad, dtype=dtype)

    def __deepcopy__(self, memo: Any) -> Self:
        if id(self) not in memo:
            memo[id(self)] = self._rebuild(self.requires_grad, self.data.dtype)
        return memo[id(self)]

    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Nothing to copy as long as neither has a size."""
        return self if is_lazy(other) else super().copy_(other, non_blocking)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> None:
        raise _used_too_early(getattr(function, "__name__", str(function)), cls)


def _on_data(name):
    """A method of Tensor that a tensor without a size allows: it only moves or casts what will be there."""

    def method(self, *args, **kwargs):
        return getattr(self.data.as_subclass(Tensor), name)(*args, **kwargs)

    method.__name__ = name
    return method


for _name in ("to", "type", "float", "double", "half", "bfloat16", "cpu", "cuda"):
    setattr(UninitializedTensorMixin, _name, _on_data(_name))


def _used_too_early(name, kind):
    return ValueError(
        f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a `LazyModule` "
        f"or explicitly manipulating `torch.nn.parameter.{kind.__name__}` objects. When using LazyModules Call "
        "`forward` with a dummy batch to initialize the parameters before calling torch functions"
    )


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose size is not known yet; ``materialize(shape)`` turns it into a `Parameter`.

    Follows ``torch.nn.UninitializedParameter``.

    >>> import rushlight as torch
    >>> torch.nn.UninitializedParameter()
    <UninitializedParameter>
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: DeviceLike = None, dtype: DType | None = None) -> Self:
        parameter = Parameter(functions.empty(0, device=device, dtype=dtype), requires_grad)
        parameter.__class__ = cls
        return parameter  # type: ignore[return-value]

    def __init__(self, requires_grad: bool = True, device: DeviceLike = None, dtype: DType | None = None) -> None:
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose size is not known yet; ``materialize(shape)`` turns it into a Tensor.

    Follows ``torch.nn.UninitializedBuffer``.

    >>> import rushlight as torch
    >>> torch.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: DeviceLike = None, dtype: DType | None = None, persistent: bool = True
    ) -> Any:
        buffer = functions.empty(0, device=device, dtype=dtype).requires_grad_(requires_grad)
        buffer.__class__ = cls
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    def __init__(
        self,
        requires_grad: bool = False,
        device: DeviceLike = None,
        dtype: DType | None = None,
        persistent: bool = True,
    ) -> None:
        pass


def is_lazy(param: Any) -> bool:
    """Whether ``param`` is an uninitialised parameter or buffer.

    >>> import rushlight as torch
    >>> torch.nn.parameter.is_lazy(torch.nn.UninitializedParameter())
    True
    """
    return isinstance(param, UninitializedTensorMixin)
