"""``torch.testing.FileCheck`` against PyTorch's."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

TEXT = "a = 1\nb = 2\nc = 3 a\nd b\n"
CHECKS = """
check("a").check("c")
check("c").check("b =")
check("b =").check_not("3").check("d")
check("b =").check_not("4").check("d")
check_not("zz")
check_not("a")
check("d").check_not("a =")
check("b = 2").check_next("c")
check("a = 1").check_next("c")
check("a = 1").check_next("=")
check("a").check_next("d")
check("c").check_same("a")
check("b =").check_same("3")
check_count("b", 2)
check_count("b", 3)
check_count("b", 1, exactly=True)
check_count("b", 2, exactly=True)
check_dag("c").check_dag("a =").check_dag("b")
check_dag("c").check_dag("zz")
check_dag("c =").check_dag("b =").check("b =")
check_regex("[bd] =")
check_regex("zz+")
check_not("b").check_not("c").check("a")
check("d b").check("d b")
""".strip().split("\n")


def outcome(call):
    try:
        return call()
    except RuntimeError as error:
        return str(error).split("\n")[0]


@pytest.mark.parametrize("checks", CHECKS)
def test_checks(checks):
    def run(library):
        return outcome(lambda: eval(f"FileCheck().{checks}", {"FileCheck": library.testing.FileCheck}).run(TEXT))

    assert run(torch) == run(rushlight)


@pytest.mark.parametrize(
    "lines", ["# CHECK: a = 1\n# CHECK-NEXT: b", "# CHECK: zz", "# CHECK-NOT: c\n# CHECK: b", "# CHECK-COUNT-3: b", ""]
)
def test_checks_in_a_text(lines):
    def run(library):
        return outcome(lambda: library.testing.FileCheck().run(lines, TEXT))

    assert run(torch) == run(rushlight)
