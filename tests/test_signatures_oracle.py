"""Signatures show the names and defaults that PyTorch's own docstrings and signatures document."""

import ast
import inspect
import re

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

SPACES = ["", "nn.functional", "linalg", "fft", "special"]
# Shown beside what is documented, or in another place of the row of options.
BESIDE = {"out", "generator", "pin_memory", "memory_format", "_stacklevel"}
# PyTorch's docstring names an argument otherwise than its function does, or leaves one out.
DOCUMENTED_OTHERWISE = """
    bernoulli broadcast_to cholesky_inverse cholesky_solve concatenate eig hamming_window lu_solve matrix_exp orgqr searchsorted
    set_default_dtype trapz triangular_solve tril_indices triu_indices true_divide unsafe_split load linalg.matrix_rank
    linalg.pinv special.round from_file
"""
# Several forms at once: all of their arguments are shown; or a name that the function takes beside its own.
ONE_FOR_ALL = {"max", "min", "scatter", "tensor_split", "swapaxes"}
APART = {*DOCUMENTED_OTHERWISE.split(), *ONE_FOR_ALL}


def place(module, space):
    for part in space.split("."):
        module = getattr(module, part) if part else module
    return module


def public_functions():
    for space in SPACES:
        ours, theirs = place(rl, space), place(torch, space)
        for name in dir(ours):
            function = getattr(ours, name)
            if inspect.isfunction(function) and not name.startswith("_") and hasattr(theirs, name):
                yield f"{space}.{name}".lstrip("."), function, getattr(theirs, name)


def documented(name, function):
    """The forms that PyTorch documents: names in order, and the text of defaults by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built-in: its docstring has the forms
        parameters = ()
    if parameters and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        yield [p.name for p in parameters], {p.name: repr(p.default) for p in parameters if p.default is not p.empty}
    pattern = rf"(?:^|\n|:: )\s*(?:[\w.]*\.)?{re.escape(name)}\(((?:[^()]|\([^()]*\))*)\)\s*(?:->|\n|$)"
    for text in re.findall(pattern, (function.__doc__ or "")[:6000]):
        text = text.replace("\n", " ").replace("torch.", "")
        for attempt in (text, text.replace("*,", "", 1)):  # ``*size, *, out=None`` is no Python
            try:
                given = ast.parse(f"def f({attempt}): ...").body[0].args
            except SyntaxError:
                continue
            rows = [given.vararg] if given.vararg else []
            defaults = [None] * (len(given.args) - len(given.defaults)) + given.defaults + given.kw_defaults
            pairs = zip([*given.args, *given.kwonlyargs], defaults)
            named = [a.arg for a in (*given.args, *rows, *given.kwonlyargs)]
            yield named, {a.arg: ast.unparse(value) for a, value in pairs if value is not None}
            break


def test_names_are_those_that_pytorch_documents():
    compared, wrong = 0, []
    for name, ours, theirs in public_functions():
        forms = list(documented(name.rpartition(".")[2], theirs))
        if not forms or name in APART:
            continue
        shown = [p for p in inspect.signature(ours).parameters if p not in BESIDE]
        compared += 1
        if not any(shown == [n for n in names if n not in BESIDE] for names, _ in forms):
            wrong.append((name, shown, [names for names, _ in forms]))
    assert wrong == []
    assert compared > 600


# Documented defaults that are others in fact, or that stand for "not given".
DEFAULTS_OTHERWISE = {"dtype", "layout", "out", "memory_format", "device", "dim", "dims", "p", "start", "generator"}
ALIKE = {("asarray", "requires_grad"), ("nan_to_num", "nan")}  # None there, or here


def test_defaults_are_those_that_pytorch_documents():
    wrong = []
    for name, ours, theirs in public_functions():
        if name in APART:
            continue
        parameters = inspect.signature(ours).parameters
        for names, defaults in documented(name.rpartition(".")[2], theirs):
            if [n for n in names if n not in BESIDE] != [p for p in parameters if p not in BESIDE]:
                continue
            for key, text in defaults.items():
                shown = parameters[key].default if key in parameters else inspect.Parameter.empty
                if shown is inspect.Parameter.empty or key in DEFAULTS_OTHERWISE:
                    continue
                try:
                    expected = ast.literal_eval(text)
                except (ValueError, SyntaxError):
                    continue
                if shown != expected and (name, key) not in ALIKE and "_with_indices" not in name:
                    wrong.append((name, key, shown, expected))
    assert wrong == []
