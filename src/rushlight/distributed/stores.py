"""Stores: tables of bytes by which the processes of a group find each other. One process keeps them in its own memory."""

from __future__ import annotations

import threading
from datetime import timedelta

from ..base.errors import hinted

default_pg_timeout = timedelta(minutes=30)


class Store:
    """What all stores can do: ``set``, ``get`` (which waits for a key), ``add``, ``wait``, ``check``, ``delete_key``.

    A subclass keeps the table elsewhere: ``_look()`` gives it, ``_change(act)`` lets ``act`` change it, alone, ``_wait_until(ready,
    seconds)`` waits until a function says so.
    """

    def __init__(self):
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self.timeout = timedelta(minutes=5)

    def _look(self):
        return self._values

    def _change(self, act):
        with self._changed:
            found = act(self._values)
            self._changed.notify_all()
        return found

    def _wait_until(self, ready, seconds):
        with self._changed:
            return self._changed.wait_for(ready, seconds)

    def set(self, key, value):
        """Put a text or bytes under a key."""
        self._change(lambda values: values.update({key: _bytes(value)}))

    def get(self, key):
        """The bytes under a key, once it is there."""
        self.wait([key])
        return self._look()[key]

    def multi_set(self, keys, values):
        """Put several values under their keys."""
        self._change(lambda held: held.update({key: _bytes(value) for key, value in zip(keys, values)}))

    def multi_get(self, keys):
        """The bytes under several keys, once they are there."""
        return [self.get(key) for key in keys]

    def append(self, key, value):
        """Put a text or bytes behind those under a key."""
        self._change(lambda values: values.update({key: values.get(key, b"") + _bytes(value)}))

    def add(self, key, amount):
        """Add to the number under a key, 0 at first. Returns the sum."""

        def act(values):
            total = int(values.get(key, b"0")) + amount
            values[key] = str(total).encode()
            return total

        return self._change(act)

    def compare_set(self, key, expected_value, desired_value):
        """Put a value under a key that holds the expected one (or nothing, where none is expected). Returns what it holds then."""

        def act(values):
            if values.get(key, b"") == _bytes(expected_value):
                values[key] = _bytes(desired_value)
            return values.get(key, _bytes(expected_value))

        return self._change(act)

    def wait(self, keys, timeout=None):
        """Wait until all keys are there; RuntimeError after ``timeout``, the store's by default."""
        limit = self.timeout if timeout is None else timeout
        if not self._wait_until(lambda: self.check(keys), max(0.0, limit.total_seconds())):
            raise self._late(keys, limit)

    def _late(self, keys, limit):
        missing = [key for key in keys if key not in self._look()]
        return RuntimeError(hinted("Wait timeout", f"nobody has set {missing} within {limit}"))

    def check(self, keys):
        """Whether all keys are there."""
        values = self._look()
        return all(key in values for key in keys)

    def delete_key(self, key):
        """Take a key away. Returns whether it was there."""
        return self._change(lambda values: values.pop(key, None) is not None)

    def num_keys(self):
        """How many keys there are, with the one that counts the processes of a group."""
        return len(self._look())

    def list_keys(self):
        """The keys."""
        return list(self._look())

    def has_extended_api(self):
        """Whether there are ``append``, ``multi_get`` and ``multi_set``: in all stores here."""
        return True

    def set_timeout(self, timeout):
        """How long ``get`` and ``wait`` wait."""
        self.timeout = timeout


def _bytes(value):
    return value if isinstance(value, bytes) else str(value).encode()


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
