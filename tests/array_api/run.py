"""Runs the array API's conformance suite on `array_api_compat.torch` over Rushlight, and tells what fails beside what is expected.

    python tests/array_api/run.py FOLDER [EXAMPLES]     FOLDER: a checkout of data-apis/array-api-tests with its submodule

It takes some twenty minutes with the 40 examples a test that are the default. docs/array_api.md tells why the others fail.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected_failures.txt"
STAND_IN = "from rushlight.compat import install_as_torch; install_as_torch()"
PROGRAM = f"{STAND_IN}; import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"


def failures(folder, examples):
    """The names of the tests that fail."""
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": "array_api_compat.torch",
        "ARRAY_API_TESTS_VERSION": "2024.12",
        "PYTHONPATH": os.pathsep.join([str(HERE.parent.parent / "src"), str(folder), os.environ.get("PYTHONPATH", "")]),
        "COLUMNS": "1000",
    }
    options = ["-q", "-rfE", "--derandomize", "--disable-deadline", "--max-examples", examples, "array_api_tests"]
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, *options], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    print(told.stdout.splitlines()[-1])
    return {
        re.sub(r" - (\w+(Error|Group)|assert).*", "", line.partition(" ")[2])
        for line in told.stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    }


def main():
    folder, examples = Path(sys.argv[1]).resolve(), (sys.argv[2:] or ["40"])[0]
    known = set(EXPECTED.read_text(encoding="utf-8").splitlines())
    found = failures(folder, examples)
    for name in sorted(found - known):
        print("fails, and is not expected to:", name)
    for name in sorted(known - found):
        print("passes, and is expected to fail:", name)
    return bool(found - known)


if __name__ == "__main__":
    sys.exit(main())
