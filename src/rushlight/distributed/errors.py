"""The errors of processes that work together."""


class DistError(RuntimeError):
    """An error of processes that work together."""


class DistBackendError(DistError):
    """An error of what carries their messages."""


class DistNetworkError(DistError):
    """An error of the network between them."""


class DistStoreError(DistError):
    """An error of what they share."""


class QueueEmptyError(DistStoreError):
    """Nothing is left in what they share."""
