"""``torch._subclasses``: tensors without memory, of which there are none here; programs ask whether a tensor is one."""

from .fake_tensor import FakeTensor, FakeTensorMode
