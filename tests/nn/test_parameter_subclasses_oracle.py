"""Subclasses of Parameter that take arguments of their own, as libraries write them, against PyTorch."""

import importlib

import pytest

import rushlight

torch = pytest.importorskip("torch")


def described(lib):
    class Marked(lib.nn.Parameter):
        def __new__(cls, data=None, mark=None, requires_grad=True):
            made = super().__new__(cls, data, requires_grad)
            made.mark = mark
            return made

    marked = Marked(lib.ones(2), mark="a")
    module = lib.nn.Module()
    module.weight = marked
    return type(marked).__name__, marked.mark, [name for name, _ in module.named_parameters()], marked.requires_grad


def test_arguments_of_their_own():
    assert described(rushlight) == described(torch)


def test_the_old_mixin_of_convolutions():
    for name in ("torch", "rushlight"):
        conv = importlib.import_module(f"{name}.nn.modules.conv")
        with pytest.warns(FutureWarning, match="_ConvTransposeMixin` is a deprecated internal class"):
            conv._ConvTransposeMixin(1, 1, (1,), (1,), (0,), (1,), True, (0,), 1, True, "zeros")
