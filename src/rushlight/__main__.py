"""``python -m rushlight``: the same program as ``rushlight``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
