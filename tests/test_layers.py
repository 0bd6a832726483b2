"""The rooms import downwards only, without cycles: the list in this file is the order of the design."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight.kernels.compiler import kernel

ROOT = Path(rushlight.__file__).parent
ORDER = [
    "base", "random", "ops", "kernels", "autograd", "tensor", "sparse", "nested", "func", "amp", "nn", "optim", "distributions", "utils", "serialization", "vision", "compile", "profiler", "export", "onnx",
    "draw", "distributed", "compat", "cli",
]  # fmt: skip
# Folders of `kernels`; the two files beside them come last. What lies in `language` imports nothing of ours.
FLOORS = [
    "language", "vector_math", "machine", "compiler", "planning", "elementwise", "rows", "products", "places", "sorting", "windows",
    "convolution", "pooling", "sampling", "recurrent", "fourier", "random_numbers",
]  # fmt: skip
# Packages that an imported function may name inside itself: optional ones, and heavy parts of the standard library.
LAZY = {"ml_dtypes", "tqdm", "PIL", "safetensors", "llvmlite", "rich", "mpi4py"}


def imports_of(path):
    """(absolute module, is inside a function) for each import of Rushlight's own modules in a file."""
    package = path.relative_to(ROOT.parent).with_suffix("").parts[:-1]
    tree = ast.parse(path.read_text())
    inside = {
        id(n) for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in ast.walk(f)
    }
    for_types = {
        id(n)
        for f in ast.walk(tree)
        if isinstance(f, ast.If) and ast.unparse(f.test) == "TYPE_CHECKING"
        for n in ast.walk(f)
    }  # names in annotations: nothing is imported when the program runs
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom):
            if node.level:
                head = package[: len(package) - node.level + 1]
                base = ".".join((*head, *([node.module] if node.module else [])))
            else:
                base = node.module or ""
            names = [base] + [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "rushlight":
                yield name, id(node) in inside


def room_of(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ORDER else None


FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_up_only(path):
    relative = path.relative_to(ROOT).parts
    if relative[0] not in ORDER:
        return  # the face of the package: top-level modules re-export
    own = ORDER.index(relative[0])
    for module, inside in imports_of(path):
        room = room_of(module)
        if room is not None:
            assert ORDER.index(room) <= own, f"{path} imports {module}, which lies below {relative[0]}"
            assert not inside or relative[0] == "cli" or room == relative[0], (
                f"{path} imports {module} inside a function"
            )


MODULES = {".".join(p.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__") for p in FILES}


def modules_in_strings(path):
    """The modules of Rushlight's that a file names in strings with a dot: absolute, relative, or seen from `kernels`."""
    package = path.relative_to(ROOT.parent).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        name = node.value.lstrip(".")
        up = len(node.value) - len(name)
        heads = [package[: len(package) - up + 1]] if up else [(), ("rushlight", "kernels")]
        for head in heads:
            module = ".".join((*head, name))
            if "." in node.value and module in MODULES:
                yield module


def floor_of(module):
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["kernels"] and len(parts) > 2 else None


KERNELS = ROOT / "kernels"


@pytest.mark.parametrize("path", sorted(KERNELS.rglob("*.py")), ids=lambda p: str(p.relative_to(KERNELS)))
def test_floors_know_those_above_only(path):
    floor = path.relative_to(KERNELS).parts[0]
    if floor in ("__init__.py", "routing.py"):
        return
    known = [*(name for name, _ in imports_of(path)), *modules_in_strings(path)]
    for module in known:
        above = floor_of(module)
        if above is not None:
            assert above in FLOORS[: FLOORS.index(floor) + 1], f"{path} names {module}, which lies below {floor}"
        assert floor != "language" or above == floor, f"{path} names {module}: a language imports nothing"


def test_strings_that_name_modules_are_seen():
    assert {floor_of(m) for m in modules_in_strings(KERNELS / "routing.py")} >= {"elementwise", "random_numbers"}
    assert "rushlight.kernels.machine.llvm" in modules_in_strings(KERNELS / "machine" / "host.py")


def test_no_file_of_kernels_lies_outside_the_floors():
    assert {path.name for path in KERNELS.glob("*.py")} == {"__init__.py", "routing.py"}
    assert {path.parent.name for path in KERNELS.glob("*/__init__.py")} == set(FLOORS)


def test_no_cycles_within_rooms():
    graph = {}
    for path in FILES:
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        graph[name] = set()
        for module, inside in imports_of(path):
            if not inside:
                graph[name].add(module)
    for name in graph:
        graph[name] = {m for m in graph[name] if m in graph and m != name and not name.startswith(m + ".")}
    done, active = set(), []

    def visit(name):
        if name in done:
            return
        assert name not in active, f"import cycle: {' -> '.join([*active[active.index(name) :], name])}"
        active.append(name)
        for other in sorted(graph[name]):
            visit(other)
        active.pop()
        done.add(name)

    for name in sorted(graph):
        visit(name)


def test_files_and_functions_stay_short():
    for path in FILES:
        text = path.read_text()
        written = "Written by tools/" in ast.get_docstring(ast.parse(text))
        assert written or len(text.splitlines()) <= 600, f"{path} is a heap: split it by subject"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno < 90, f"{path}:{node.lineno} {node.name} is too long"


def test_every_file_says_what_lives_there():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text())), f"{path} does not open with a docstring"


def test_import_is_light():
    code = "import sys, rushlight; print(*sorted(m for m in sys.modules if not m.startswith(('numpy', '_'))))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for heavy in (
        "torch",
        "PIL",
        "tqdm",
        "llvmlite",
        "multiprocessing.pool",
        "urllib.request",
        "asyncio",
        "unittest",
        "rushlight.nn",
    ):
        assert heavy not in loaded, f"import rushlight loads {heavy}"


@pytest.mark.parametrize("before", ["", "gc.disable(); "])
def test_import_leaves_the_collector_as_it_was(before):
    code = f"import gc; {before}was = gc.isenabled(); import rushlight; print(gc.isenabled() is was, gc.get_freeze_count() > 30000)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_the_fingerprint_covers_all_that_kernels_are_made_of():
    """Whatever a file of this room imports of Rushlight lies in a room whose sources are in the keys."""
    rooms = [ROOT / room for room in kernel.ROOMS]
    covered = {Path(path) for room in rooms for path, _ in kernel._sources(room)}
    assert covered == {path for room in rooms for path in room.rglob("*.py")}
    files = [path for path in covered if path.is_relative_to(ROOT / "kernels")]
    imported = {name for path in files for name, _ in imports_of(path)}
    found = {name.split(".")[1] for name in imported if name.count(".")}
    assert len(files) > 100 and "ops" in found and found <= set(kernel.ROOMS)
