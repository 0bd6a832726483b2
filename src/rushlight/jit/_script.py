"""``torch.jit.script``: modules and functions under TorchScript's classes, which run the Python that they were made of."""

from __future__ import annotations

import copy
import inspect
import pickle
import textwrap
import warnings

from ..base.errors import hinted
from ..nn import Module
from ._state import _enabled, deprecated, made
from .marks import Attribute, _unwrap_optional, interface, is_module_class, qualified_name, unwrapped

__all__ = [
    "Attribute", "CompilationUnit", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "ScriptWarning", "_unwrap_optional",
    "interface", "script", "script_method",
]  # fmt: skip
_HINT = "there is no TorchScript here: it runs the Python it was made of; {instead}"
_GRAPH = _HINT.format(instead="torch.fx.symbolic_trace(module_or_function).graph shows the operations")
_SAVE = _HINT.format(
    instead="keep the parameters with torch.save(module.state_dict(), file) and make the module again from its class"
)


class ScriptWarning(Warning):
    """What PyTorch warns of in code that it compiles: nothing here."""


def refused(name, hint):
    """The error of a part of TorchScript that is not here."""
    return NotImplementedError(hinted(f"torch.jit.{name} is not implemented", hint))


def _source(function):
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise OSError(
            hinted(
                f"could not get source code of {function!r}", "it was not read from a file: there is no text to show"
            )
        ) from error


class _Shown:
    """What scripted things say of themselves."""

    @property
    def code(self):
        """The Python that runs."""
        return _source(self._python())

    @property
    def graph(self):
        """Refused: there is no TorchScript."""
        raise refused(f"{type(self).__name__}.graph", _GRAPH)

    inlined_graph = graph

    @property
    def code_with_constants(self):
        """The Python that runs, and the constants beside it: none."""
        return self.code, {}

    def graph_for(self, *args, **kwargs):
        """Refused: there is no TorchScript."""
        raise refused(f"{type(self).__name__}.graph_for", _GRAPH)

    def save(self, f, **kwargs):
        """Refused: there is no TorchScript."""
        raise refused("save", _SAVE)

    def save_to_buffer(self, *args, **kwargs):
        """Refused: there is no TorchScript."""
        raise refused("save", _SAVE)


class ScriptFunction(_Shown):
    """A function that was scripted or traced: called like it."""

    def __init__(self, *args, **kwargs):
        raise TypeError(hinted("ScriptFunction: No constructor defined!", "torch.jit.script(function) makes one"))

    @classmethod
    def _of(cls, function, around=None):
        self = cls.__new__(cls)
        self._torchdynamo_inline, self._around = function, around
        self.__doc__ = function.__doc__
        return self

    def __call__(self, *args, **kwargs):
        if self._around is None:
            return self._torchdynamo_inline(*args, **kwargs)
        return self._around(self._torchdynamo_inline, args, kwargs)

    def _python(self):
        return self._torchdynamo_inline

    @property
    def name(self):
        """The function's name."""
        return self._torchdynamo_inline.__name__

    @property
    def qualified_name(self):
        """The function's name with its module."""
        return qualified_name(self._torchdynamo_inline)

    def __reduce__(self):
        raise pickle.PickleError(hinted("ScriptFunction cannot be pickled", "pickle the function it was made of"))


class ScriptModule(_Shown, Module):
    """A module with `script_method`s, which run as they are."""

    def __init__(self):
        super().__init__()

    def __setattr__(self, name, value):
        super().__setattr__(name, unwrapped(value))

    def _python(self):
        return type(self).forward

    def define(self, src):
        """Refused: there is no TorchScript."""
        raise refused("ScriptModule.define", "write the method in the class")


class RecursiveScriptModule(ScriptModule):
    """What `script` makes of a module: the same parameters and buffers, other attributes as they were then."""

    _copies_training = True

    def __init__(self, cpp_module):
        raise TypeError(
            hinted(
                f"RecursiveScriptModule cannot be made of {type(cpp_module).__name__}",
                "torch.jit.script(module) makes one",
            )
        )

    @classmethod
    def _of(cls, module, below=None):
        """A wrapper around a copy of ``module``, and for each child one of class ``below`` around the copy's child."""
        return cls._around(_copied(module, {}), below or cls)

    @classmethod
    def _around(cls, inner, below):
        self = cls.__new__(cls)
        Module.__init__(self)
        state, theirs = self.__dict__, inner.__dict__
        state["_inner"] = inner
        for name in ("_parameters", "_buffers", "_non_persistent_buffers_set"):
            state[name] = theirs[name]
        if cls._copies_training:
            del state["training"]
        else:
            state["training"] = inner.training
        for name, child in inner._modules.items():
            self._modules[name] = child if child is None else below._around(child, below)
        return self

    @property
    def original_name(self):
        """The name of the module's class."""
        return type(self._inner).__name__

    def _python(self):
        return type(self._inner).forward

    def extra_repr(self):
        return f"original_name={self.original_name}"

    def forward(self, *args, **kwargs):
        """What the module's own call does, hooks included."""
        return self._inner(*args, **kwargs)

    def __getattr__(self, name):
        state = self.__dict__
        for members in (state.get("_parameters", {}), state.get("_buffers", {}), state.get("_modules", {})):
            if name in members:
                return members[name]
        if "_inner" in state and hasattr(state["_inner"], name):
            return getattr(state["_inner"], name)
        raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        value, inner = unwrapped(value), self.__dict__.get("_inner")
        if inner is None or name in self.__dict__:
            return super().__setattr__(name, value)
        if name in self._modules or isinstance(value, Module):
            return self._set_module(name, value)
        return setattr(inner, name, value)

    def _set_module(self, name, value):
        if not isinstance(value, RecursiveScriptModule):
            done = "re-assign" if name in self._modules else "add"
            raise RuntimeError(
                hinted(
                    f"Cannot {done} modules in a ScriptModule with non-scripted module, tried to replace existing module "
                    f"'{name}': {value}",
                    "script the new module first, or change the module before it is scripted",
                )
            )
        self._modules[name] = value
        self._inner._modules[name] = value._inner

    def __len__(self):
        return len(self._inner)

    def __iter__(self):
        return iter(self._inner)

    def __getitem__(self, index):
        return self._inner[index]

    def __contains__(self, key):
        return key in self._inner

    def __bool__(self):
        return True

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._inner)})

    def __copy__(self):
        return type(self)._around(_copied(self._inner, {}), type(self))

    def __deepcopy__(self, memo):
        return type(self)._around(copy.deepcopy(self._inner, memo), type(self))

    def __reduce_ex__(self, protocol):
        raise RuntimeError(
            hinted(
                f"Tried to serialize object {qualified_name(type(self._inner))} which does not have a __getstate__ method "
                "defined!",
                _SAVE,
            )
        )


def _copied(module, known):
    """A module of the same class, attributes and tensors, with dictionaries of its own, and so all modules below it."""
    module = getattr(module, "_inner", module) if isinstance(module, RecursiveScriptModule) else module
    if module is None or id(module) in known:
        return known.get(id(module))
    made = known[id(module)] = object.__new__(type(module))
    state = made.__dict__
    for name, value in module.__dict__.items():
        state[name] = copy.copy(value) if name.startswith("_") and isinstance(value, (dict, set)) else unwrapped(value)
    for name, child in module._modules.items():
        state["_modules"][name] = _copied(child, known)
    return made


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """A module or function under TorchScript's class: it runs the Python that it was given.

    >>> import rushlight as torch
    >>> layer = torch.jit.script(torch.nn.Linear(2, 3))
    >>> isinstance(layer, torch.jit.ScriptModule), layer.original_name, layer(torch.ones(1, 2)).shape
    (True, 'Linear', torch.Size([1, 3]))
    """
    if not _enabled:
        return obj
    deprecated("script")
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=2,
        )
    if isinstance(obj, (ScriptModule, ScriptFunction)):
        return obj
    if isinstance(obj, Module):
        made()
        prepare = getattr(obj, "__prepare_scriptable__", None)
        return RecursiveScriptModule._of(obj if prepare is None else prepare())
    if is_module_class(obj):
        raise RuntimeError(
            hinted(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance instead",
                f"torch.jit.script({obj.__name__}(...))",
            )
        )
    if isinstance(obj, (dict, list)):
        return copy.copy(obj)
    if inspect.isfunction(obj) or inspect.ismethod(obj):
        made()
        return ScriptFunction._of(obj)
    if type(obj).__module__ == "builtins" and not isinstance(obj, type):
        raise TypeError(hinted(f"{type(obj)} is a built-in class", "script modules, functions and classes"))
    return obj


def script_method(fn):
    """Mark a method of a `ScriptModule`: the method itself."""
    deprecated("script_method")
    made()
    return fn


class CompilationUnit:
    """A collection of compiled functions: it stays empty, as there is no TorchScript."""

    def __init__(self, lang=None, _frames_up=0):
        if lang is not None:
            raise refused("CompilationUnit", "write the function in Python")
