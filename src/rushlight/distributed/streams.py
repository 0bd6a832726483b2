"""Output of several processes: whole lines, each with the rank of the process that prints it."""

from __future__ import annotations


class RankedStream:
    """A text stream that puts ``[rank1]: `` before each line, and writes whole lines at once."""

    def __init__(self, stream, prefix):
        self._stream, self.prefix, self._begun = stream, prefix, ""

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def write(self, text):
        """Write the lines that are whole; keep the rest."""
        lines = (self._begun + text).split("\n")
        self._begun = lines.pop()
        if lines:
            self._stream.write("".join(f"{self.prefix}{line}\n" for line in lines))
            self._stream.flush()
        return len(text)

    def writelines(self, lines):
        """`write` each."""
        for line in lines:
            self.write(line)

    def close_line(self):
        """Write what has no end of a line yet."""
        if self._begun:
            self.write("\n")
