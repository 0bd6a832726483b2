"""``torch.cuda.streams``: the classes of `torch.cuda` for streams and events."""

from . import Event, ExternalStream, Stream

__all__ = ["Event", "ExternalStream", "Stream"]
