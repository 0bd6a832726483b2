"""Makes the helpers of the tests of autograd importable here: stories, and inputs for every operation of the table."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "autograd"))
