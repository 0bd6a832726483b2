"""Settings of every test: property tests draw the same examples each time, unless RUSHLIGHT_EXPLORE=1 asks for new ones;
the many kernels that only tests compile are kept in the checkout, away from the user's own; operations take their short
paths from the second call on. RUSHLIGHT_SHARE=3 runs every third case of each test (the first at least)."""

import os
from collections import Counter
from pathlib import Path

from hypothesis import settings

os.environ.setdefault("RUSHLIGHT_CACHE", str(Path(__file__).parent.parent / ".kernel_cache"))
from rushlight.tensor import short_paths  # after the cache's place is set

short_paths.GENERAL_CALLS = 1

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("RUSHLIGHT_EXPLORE") == "1" else "repeatable")


def pytest_collection_modifyitems(config, items):
    """Leave out what is not in the share: CI's further passes over tests that have run whole take one."""
    share = int(os.environ.get("RUSHLIGHT_SHARE", "1"))
    if share > 1:
        seen, kept, left = Counter(), [], []
        for item in items:
            test = item.nodeid.partition("[")[0]
            (left if seen[test] % share else kept).append(item)
            seen[test] += 1
        items[:] = kept
        config.hook.pytest_deselected(items=left)
