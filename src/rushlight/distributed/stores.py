"""Stores: tables of bytes by which the processes of a group find each other. One process keeps them in its own memory."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

from ..base.errors import hinted

default_pg_timeout = timedelta(minutes=30)


class Store:
    """What all stores can do: ``set``, ``get`` (which waits for a key), ``add``, ``wait``, ``check``, ``delete_key``."""

    def __init__(self):
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self.timeout = timedelta(minutes=5)

    def set(self, key, value):
        """Put a text or bytes under a key."""
        with self._changed:
            self._values[key] = value if isinstance(value, bytes) else str(value).encode()
            self._changed.notify_all()

    def get(self, key):
        """The bytes under a key, once it is there."""
        self.wait([key])
        return self._values[key]

    def add(self, key, amount):
        """Add to the number under a key, 0 at first. Returns the sum."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            self._changed.notify_all()
        return total

    def compare_set(self, key, expected_value, desired_value):
        """Put a value under a key that holds the expected one (or nothing, where none is expected). Returns what it holds then."""
        with self._changed:
            if self._values.get(key, b"") == str(expected_value).encode():
                self._values[key] = str(desired_value).encode()
                self._changed.notify_all()
            return self._values.get(key, str(expected_value).encode())

    def wait(self, keys, timeout=None):
        """Wait until all keys are there; RuntimeError after ``timeout``, the store's by default."""
        limit = self.timeout if timeout is None else timeout
        end = time.monotonic() + limit.total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), max(0.0, end - time.monotonic())):
                raise RuntimeError(
                    hinted(
                        "Wait timeout", f"nobody has set {[k for k in keys if k not in self._values]} within {limit}"
                    )
                )

    def check(self, keys):
        """Whether all keys are there."""
        return all(key in self._values for key in keys)

    def delete_key(self, key):
        """Take a key away. Returns whether it was there."""
        with self._changed:
            return self._values.pop(key, None) is not None

    def num_keys(self):
        """How many keys there are, with the one that counts the processes of a group."""
        return len(self._values)

    def set_timeout(self, timeout):
        """How long ``get`` and ``wait`` wait."""
        self.timeout = timeout


class HashStore(Store):
    """A store in the memory of one process.

    >>> import rushlight as torch
    >>> store = torch.distributed.HashStore()
    >>> store.set("first", "1")
    >>> store.get("first"), store.add("second", 2)
    (b'1', 2)
    """


class PrefixStore(Store):
    """A part of another store: every key has ``prefix`` and a slash in front of it."""

    def __init__(self, prefix, store):
        super().__init__()
        self.underlying_store, self.prefix = store, prefix

    def _named(self, key):
        return f"{self.prefix}/{key}"

    def set(self, key, value):
        self.underlying_store.set(self._named(key), value)

    def get(self, key):
        return self.underlying_store.get(self._named(key))

    def add(self, key, amount):
        return self.underlying_store.add(self._named(key), amount)

    def compare_set(self, key, expected_value, desired_value):
        return self.underlying_store.compare_set(self._named(key), expected_value, desired_value)

    def wait(self, keys, timeout=None):
        self.underlying_store.wait([self._named(key) for key in keys], timeout)

    def check(self, keys):
        return self.underlying_store.check([self._named(key) for key in keys])

    def delete_key(self, key):
        return self.underlying_store.delete_key(self._named(key))

    def num_keys(self):
        return self.underlying_store.num_keys()
