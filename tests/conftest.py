"""Settings of every test: property tests draw the same examples each time, unless RUSHLIGHT_EXPLORE=1 asks for new ones."""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("RUSHLIGHT_EXPLORE") == "1" else "repeatable")
