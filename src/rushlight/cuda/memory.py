"""``torch.cuda.memory``: what `torch.cuda` answers about a device's memory."""

__all__ = [name for name in dir() if not name.startswith("_")]
