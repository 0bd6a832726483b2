"""What `ops.contents` says of the op table is so: every module writes what is listed for it, whichever is imported first."""

import subprocess
import sys
from pathlib import Path

import pytest

from rushlight.ops.table import Records

TOOLS = Path(__file__).parents[2] / "tools"
EACH_FIRST = """
import os, sys, rushlight
from importlib import import_module
from rushlight.ops import contents, table

PARTS = (contents.OPERATIONS, table.TABLE), (contents.COMPOSITES, table.COMPOSITES), (contents.INPLACE_LISTS, table.INPLACE_LISTS)


def check(module):
    import_module(module)
    for listed, records in PARTS:
        names = " ".join(listed.get(module, {}).values()).split()
        missing = [name for name in names if not dict.__contains__(records, name)]
        assert not missing, (module, missing)


failed = False
for module in dict.fromkeys(module for listed, _ in PARTS for module in listed):
    child = os.fork()
    if not child:
        status = 1
        try:
            check(module)
            status = 0
        finally:
            sys.excepthook(*sys.exc_info()) if status else None
            os._exit(status)
    failed |= os.waitpid(child, 0)[1] != 0
sys.exit(failed)
"""


def test_the_file_is_as_written():
    program = "import sys, write_contents; sys.stdout.write(write_contents.contents())"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=TOOLS, check=True, timeout=60
    )
    page = TOOLS.parent / "src" / "rushlight" / "ops" / "contents.py"
    assert page.read_text(encoding="utf-8") == found.stdout, "run: python tools/write_contents.py"


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_every_module_can_be_imported_first_and_writes_what_is_listed():
    found = subprocess.run([sys.executable, "-c", EACH_FIRST], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr


def test_records_are_read_when_asked_for():
    records = Records({"rushlight.ops.table": {((), False): "absent"}})
    assert "absent" in records and "other" not in records and records.get("other") is None
    with pytest.raises(KeyError, match=r"rushlight.ops.table writes no absent into the table"):
        records["absent"]
    with pytest.raises(KeyError, match="other"):
        records["other"]
