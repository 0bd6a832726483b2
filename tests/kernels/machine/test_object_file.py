"""Object files put into memory without a linker: the same code as LLVM's linker makes, nothing writable that can run."""

import ctypes
import os
import platform
import struct
import subprocess
import sys

import pytest

from rushlight.kernels.machine import object_file
from rushlight.kernels.machine.host import host
from rushlight.kernels.machine.object_file import Image, bundle, can_place, unbundled

ELF = sys.platform == "linux" and platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(host() is None or not ELF, reason="needs llvmlite on x86-64 Linux")

TEXT = """
@calls = global i64 0
@primes = internal constant [4 x double] [double 2.0, double 3.0, double 5.0, double 7.0]
declare double @twice(double)
declare ptr @memset(ptr, i32, i64)
define double @prime(i64 %number) {
  %calls = load i64, ptr @calls
  %more = add i64 %calls, 1
  store i64 %more, ptr @calls
  %place = getelementptr [4 x double], ptr @primes, i64 0, i64 %number
  %prime = load double, ptr %place
  %found = call double @twice(double %prime)
  %odd = fadd double %found, 1.25
  ret double %odd
}
define void @clear() {
  %ignored = call ptr @memset(ptr @calls, i32 0, i64 8)
  ret void
}
"""
Twice = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


@pytest.fixture(scope="module")
def code():
    return host().compile(TEXT)


@pytest.fixture
def twice():
    return Twice(lambda value: 2 * value)


def test_code_data_constants_and_imports(code, twice):
    assert can_place(code)
    image = Image(code, {"twice": ctypes.cast(twice, ctypes.c_void_p).value})
    assert {"prime", "clear", "calls"} <= image.symbols.keys()
    prime = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(image.symbols["prime"])
    assert [prime(number) for number in range(4)] == [5.25, 7.25, 11.25, 15.25]
    calls = ctypes.c_int64.from_address(image.symbols["calls"])
    assert calls.value == 4
    ctypes.CFUNCTYPE(None)(image.symbols["clear"])()
    assert calls.value == 0


def test_two_images_have_data_of_their_own(code, twice):
    imports = {"twice": ctypes.cast(twice, ctypes.c_void_p).value}
    first, second = Image(code, imports), Image(code, imports)
    ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(first.symbols["prime"])(1)
    counts = [ctypes.c_int64.from_address(image.symbols["calls"]).value for image in (first, second)]
    assert counts == [1, 0]


CALLING = """
declare i64 @more(i64)
define i64 @count(i64 %left, i64 %found) {
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %go
go:
  %next = sub i64 %left, 1
  %added = call i64 @more(i64 %found)
  %r = call i64 @count(i64 %next, i64 %added)
  ret i64 %r
done:
  ret i64 %found
}
@step = internal constant i64 5
"""
CALLED = """
@step = internal constant i64 3
declare i64 @count(i64, i64)
define i64 @more(i64 %found) {
  %step = load i64, ptr @step
  %some = call i64 @count(i64 0, i64 %step)
  %r = add i64 %found, %some
  ret i64 %r
}
"""


@pytest.mark.parametrize("placed", [True, False])
def test_files_of_a_bundle_call_each_other(placed, monkeypatch):
    monkeypatch.setattr("rushlight.kernels.machine.llvm.can_place", lambda code: placed)
    code = host().compile(CALLING, CALLED)
    assert bundle(unbundled(code)) == code and len(unbundled(code)) == 2 and can_place(code)
    addresses, _kept = host().load(code, ("count", "absent"), {})
    assert addresses.keys() == {"count"}
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(addresses["count"])(4, 100) == 112


def test_a_text_that_llvm_cannot_read_is_told_of():
    for texts in (["define"], [CALLED, "define i64 @x() {"], ["nonsense", CALLED]):
        with pytest.raises(RuntimeError, match="LLVM cannot read a program's text: "):
            host().compile(*texts)


def test_nothing_writable_can_run(code, twice):
    image = Image(code, {"twice": ctypes.cast(twice, ctypes.c_void_p).value})
    places = {name: image.symbols[name] for name in ("prime", "calls")}
    permissions = {}
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, allowed = line.split()[:2]
            start, end = (int(part, 16) for part in span.split("-"))
            permissions.update({name: allowed for name, address in places.items() if start <= address < end})
    assert permissions == {"prime": "r-xp", "calls": "rw-p"}


def test_a_name_that_nobody_has(code):
    with pytest.raises(AttributeError, match="twice"):
        Image(code, {})


def test_other_files_are_left_to_the_linker(code):
    assert not can_place(b"\xcf\xfa\xed\xfe" + code[4:])  # macOS
    assert not can_place(code[:18] + struct.pack("<H", 183) + code[20:])  # ARM, with relocations of x86-64
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    for number in range(count):
        kind, offset = (struct.unpack_from("<I", code, start + number * size + 4)[0],
                        struct.unpack_from("<Q", code, start + number * size + 24)[0])  # fmt: skip
        if kind == object_file._ADDENDS:
            other = bytearray(code)
            struct.pack_into("<I", other, offset + 8, 2)  # a relocation relative to its place
            assert not can_place(bytes(other))
            break


def test_the_linker_agrees(code, twice, monkeypatch):
    """`machine.Host.load` with LLVM's linker, which other systems use."""
    imports = {"twice": ctypes.cast(twice, ctypes.c_void_p).value}
    monkeypatch.setattr("rushlight.kernels.machine.llvm.can_place", lambda code: False)
    addresses, kept = host().load(code, ("prime", "calls", "absent"), imports)
    assert addresses.keys() == {"prime", "calls"}
    prime = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(addresses["prime"])
    assert [prime(number) for number in range(4)] == [5.25, 7.25, 11.25, 15.25]
    assert kept is not None


def test_a_process_with_all_kernels_on_disk_does_not_load_llvm(tmp_path):
    program = (
        "import sys, rushlight as torch; x = torch.ones(100000).exp().sum().item();"
        "print(round(x), 'llvmlite.binding' in sys.modules)"
    )
    environment = {**os.environ, "RUSHLIGHT_CACHE": str(tmp_path / "cache")}
    found = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert [text.split() for text in found] == [["271828", "True"], ["271828", "False"]]
