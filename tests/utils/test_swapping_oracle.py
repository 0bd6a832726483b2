"""utils.swap_tensors and set_module: what moves, and what refuses, as in PyTorch."""

import weakref

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def swapped(library, kind, other):
    first, second = kind(library.ones(2)), other(library.arange(3.0))
    for number, tensor in enumerate((first, second)):
        if tensor.requires_grad:
            tensor.grad = library.full_like(tensor, number + 5.0)
    first.mark = "first"
    library.utils.swap_tensors(first, second)
    story = [
        (
            type(each).__name__,
            each.tolist(),
            each.requires_grad,
            each.grad is not None and each.grad.tolist(),
            vars(each),
        )
        for each in (first, second)
    ]
    for each in (first, second):
        if each.requires_grad:
            (each * 2).sum().backward()
            story.append(each.grad.tolist())
    return story


@pytest.mark.parametrize("kind", ["plain", "parameter", "leaf"])
@pytest.mark.parametrize("other", ["plain", "parameter", "leaf"])
def test_all_moves(kind, other):
    stories = []
    for library in LIBRARIES:
        kinds = {"plain": lambda x: x, "parameter": library.nn.Parameter, "leaf": lambda x: x.requires_grad_()}
        stories.append(swapped(library, kinds[kind], kinds[other]))
    assert stories[0] == stories[1]


def texts(act):
    found = []
    for library in LIBRARIES:
        with pytest.raises(Exception) as caught:
            act(library)
        found.append((caught.type, str(caught.value).split("\nhint:")[0]))
    return found


def test_refusals():
    def referred(library):
        tensor = library.ones(2)
        reference = weakref.ref(tensor)
        library.utils.swap_tensors(tensor, library.ones(1))
        assert reference

    def graph(library):
        tensor = library.ones(2, requires_grad=True)
        made = tensor * 2
        library.utils.swap_tensors(tensor, library.ones(1))
        made.sum().backward()

    for act in (referred, graph, lambda library: library.utils.set_module(library.nn.ReLU, 3)):
        ours, theirs = texts(act)
        assert ours == theirs


def test_modules_of_functions():
    for library in LIBRARIES:

        def function():
            return None

        library.utils.set_module(function, "elsewhere")
        assert function.__module__ == "elsewhere"


def test_what_a_module_loads():
    stories = []
    for library in LIBRARIES:
        tensor, given = library.zeros(3), library.arange(3.0)
        loaded, assigned = tensor.module_load(given), tensor.module_load(given, assign=True)
        stories.append(
            [tensor.tolist(), loaded.data_ptr() == tensor.data_ptr(), assigned.data_ptr() == given.data_ptr()]
        )
    assert stories[0] == stories[1]
    ours, theirs = texts(lambda library: library.zeros(3).module_load(library.ones(4)))
    assert ours == theirs
    ours, theirs = texts(lambda library: library.zeros(3, requires_grad=True).module_load(library.ones(3)))
    assert ours == theirs
