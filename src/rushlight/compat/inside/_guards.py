"""``torch._guards``: what PyTorch's compiler keeps while it records. There is none here, so nothing is being recorded."""

from ...base.errors import hinted as _hinted


class TracingContext:
    """What is known while a compiler records: never here."""

    @staticmethod
    def try_get():
        """The context of the recording at work: None."""
        return None

    @staticmethod
    def get():
        """The context of the recording at work: refused."""
        message = "TracingContext.get() must be called within an ongoing trace."
        raise RuntimeError(_hinted(message, "there is no compiler here; try_get() gives None"))


def active_fake_mode():
    """The mode at work in which tensors have no memory: None."""
    return None


def detect_fake_mode(inputs=None):
    """The mode in which one of ``inputs`` was made without memory: None."""
    return None
