"""The error that ends a command with one line on standard error."""


class CommandError(Exception):
    """A command cannot do what was asked: its message is printed, `status` becomes the exit status."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status
