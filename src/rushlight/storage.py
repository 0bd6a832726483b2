"""``torch.storage``: the classes of storages."""

from .tensor.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
