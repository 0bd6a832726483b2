"""Functions of the op table are made when somebody asks for one of their names, each once, and found everywhere."""

import subprocess
import sys

import pytest

import rushlight
from rushlight.ops.table import COMPOSITES, EXPECTED, TABLE, functions
from rushlight.tensor.names import NAMESPACES, function_at, make_all, names_at


def in_new_process(program):
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_import_makes_few_functions_and_reads_few_records():
    in_new_process(
        "import rushlight\n"
        "from rushlight.ops.table import EXPECTED, TABLE, COMPOSITES\n"
        "made, read = len(EXPECTED), dict.__len__(TABLE) + dict.__len__(COMPOSITES)\n"
        "rushlight.ones(2) + 1\n"
        "assert len(EXPECTED) > 0.99 * made, (len(EXPECTED), made)\n"
        "assert read < 0.25 * (len(TABLE) + len(COMPOSITES)), read\n"
    )


@pytest.mark.parametrize("where", NAMESPACES)
def test_every_name_of_a_module_is_found(where):
    module = rushlight
    for part in where.split(".") if where != "torch" else ():
        module = getattr(module, part)
    assert names_at(where) <= set(dir(module))
    for name in names_at(where):
        assert getattr(module, name) is not None
        assert name in vars(module)
    with pytest.raises(AttributeError, match="has no attribute 'surely_not_there'"):
        module.surely_not_there  # noqa: B018


def test_every_name_of_the_table_is_found():
    for name in (*TABLE, *COMPOSITES):
        assert callable(getattr(functions, name))
    make_all()
    assert not EXPECTED
    kinds = {type(value).__name__ for value in vars(rushlight.Tensor).values()}
    assert "_Method" not in kinds


def test_star_import_has_the_functions():
    in_new_process(
        "from rushlight import *\nfrom rushlight.nn.functional import *\nassert relu(sin(zeros(2))).sum() == 0"
    )


def test_what_a_program_puts_in_the_place_stays():
    in_new_process(
        "import rushlight as torch\n"
        "torch.Tensor.sin = lambda self: 'own'\n"
        "torch.cos = lambda x: 'own'\n"
        "x = torch.zeros(2)\n"
        "torch.sin(x), x.cos(), x.sin_()\n"
        "assert x.sin() == 'own' and torch.cos(x) == 'own'\n"
    )


def test_names_of_one_function_answer_alike_whichever_is_asked_first():
    for names in ("absolute", "abs"), ("abs", "absolute"):
        in_new_process(
            "import rushlight as torch\n"
            f"for name in {names!r}:\n"
            "    assert getattr(torch.tensor([-1.0]), name)().item() == 1\n"
            "assert torch.Tensor.abs_(torch.tensor([-2])).item() == 2\n"
        )


def test_threads_that_ask_at_once_get_one_function():
    program = (
        "import threading, rushlight as torch\n"
        "found, ready = [], threading.Barrier(8)\n"
        "def ask():\n"
        "    ready.wait()\n"
        "    found.append((torch.softmax, torch.Tensor.softmax, torch.Tensor.__add__))\n"
        "threads = [threading.Thread(target=ask) for _ in range(8)]\n"
        "[thread.start() for thread in threads], [thread.join() for thread in threads]\n"
        "assert len(set(found)) == 1, found\n"
    )
    in_new_process(program)


def test_autocast_reaches_functions_made_after_it_began():
    in_new_process(
        "import rushlight as torch\n"
        "with torch.autocast('cpu'):\n"
        "    x = torch.ones(2, 2)\n"
        "    found = [torch.mm(x, x), x.mm(x), x @ x, torch.nn.functional.linear(x, x)]\n"
        "assert all(each.dtype == torch.bfloat16 for each in found)\n"
    )


def test_unknown_names_are_none_here():
    assert function_at("torch", "surely_not_there") is None
