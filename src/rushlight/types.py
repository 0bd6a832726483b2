"""``torch.types``: names for annotations."""

from typing import Union

from .base.device import device
from .base.dtypes import DType
from .base.size import Size
from .tensor import Tensor

Number = Union[int, float, bool]
Device = Union[device, str, int, None]
_dtype = DType
_size = Union[Size, list, tuple]
