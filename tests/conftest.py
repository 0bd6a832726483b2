"""Settings of every test: property tests draw the same examples each time, unless RUSHLIGHT_EXPLORE=1 asks for new ones;
the many kernels that only tests compile are kept in the checkout, away from the user's own; operations take their short
paths from the second call on."""

import os
from pathlib import Path

from hypothesis import settings

os.environ.setdefault("RUSHLIGHT_CACHE", str(Path(__file__).parent.parent / ".kernel_cache"))
from rushlight.tensor import short_paths  # after the cache's place is set

short_paths.GENERAL_CALLS = 1

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("RUSHLIGHT_EXPLORE") == "1" else "repeatable")
