"""Apple's Metal: not used."""

from ..compat import absent as _absent

_refuse = _absent.refusal(RuntimeError, "Cannot execute isOnMacOSorNewer() without MPS backend.", "torch.backends.mps")


_absent.define(
    globals(),
    {f"{name}()": _absent.missing(f"_mps_{name}", "torch.backends.mps") for name in ("get_core_count", "get_name")},
)


def is_available():
    """Whether Metal can be used: False in this version."""
    return False


def is_built():
    """Whether this build supports Metal: False."""
    return False


def is_macos_or_newer(major, minor):
    """Whether macOS is of this version or newer: cannot be asked without Metal."""
    _refuse()


def is_macos13_or_newer(minor=0):
    """Whether macOS is of version 13 or newer: cannot be asked without Metal."""
    _refuse()
