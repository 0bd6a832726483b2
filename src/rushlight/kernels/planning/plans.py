"""What kernels remember of shapes and layouts that they met."""

from __future__ import annotations

_MOST = 4096


class Plans(dict):
    """A dictionary that forgets everything when it is full: new shapes all the time must not fill the memory."""

    def __setitem__(self, key, value):
        if len(self) >= _MOST:
            self.clear()
        super().__setitem__(key, value)

    def remembered(self, arguments, make):
        """``make(*arguments)``, computed once."""
        found = self.get(arguments)
        if found is None:
            found = self[arguments] = make(*arguments)
        return found
