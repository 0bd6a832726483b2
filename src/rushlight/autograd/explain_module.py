"""What there is to say about the parameters of a module: sizes, which are frozen, and what their gradients are like."""

from __future__ import annotations

from ..base.user_code import written
from . import modes
from .explain_tensor import size_of
from .names import names_in_scope


def explain_module(module):
    """``(title, sections, facts)`` of an `Explanation`."""
    parameters = dict(module.named_parameters())
    trained = {name: each for name, each in parameters.items() if each.requires_grad}
    given = {name: each._grad.detach() for name, each in trained.items() if each._grad is not None}
    facts = {
        "name": _name_of_module(module),
        "parameters": sum(each.numel() for each in parameters.values()),
        "bytes": sum(each.nbytes for each in parameters.values()),
        "frozen": [name for name in parameters if name not in trained],
        "with_gradient": list(given),
        "without_gradient": [name for name in trained if name not in given],
        "with_nan": [name for name, grad in given.items() if not grad.isfinite().all()],
        "with_zero": [name for name, grad in given.items() if grad.numel() and not grad.any()],
    }
    facts["stale"] = _stale(trained, [name for name in given if name not in facts["with_zero"]])
    facts["unreached_modules"] = _whole_modules(module, facts["without_gradient"]) if given else []
    title = f"{facts['name'] or 'a module'}: {type(module).__name__} with {len(parameters)} parameters"
    sections = [("sizes", [_sizes(facts, given, module)]), ("gradients", _gradients(facts, given))]
    if facts["frozen"]:
        sections.append(
            ("frozen", [f"requires_grad is False, so backward leaves them alone: {_named(facts['frozen'])}."])
        )
    return title, sections, facts


def _name_of_module(module):
    """What the user calls ``module``: from the common beginning of its parameters' names."""
    names = names_in_scope()
    for path, parameter in module.named_parameters():
        name = names.get(id(parameter), "")
        if name.endswith("." + path):
            return f"`{name.removesuffix('.' + path)}`"
    return None


def _named(names):
    return ", ".join(f"`{name}`" for name in names)


def _sizes(facts, given, module):
    gradients = sum(grad.nbytes for grad in given.values())
    buffers = sum(each.nbytes for each in module.buffers())
    sentence = f"{facts['parameters']} numbers in {size_of(facts['bytes'])}, gradients {size_of(gradients)}"
    return f"{sentence}, buffers {size_of(buffers)}."


def _gradients(facts, given):
    without = facts["without_gradient"]
    last = modes.state.last_backward
    place = f" (the last of this thread: {written(last.location)})" if last is not None else ""
    if not given:
        if not without:
            return ["No parameter requires grad."]
        return [
            f"No parameter has a gradient: no backward call has reached this module{place}, or zero_grad() has set the gradients "
            "to None since."
        ]
    sentences = [f"{len(given)} parameters have a gradient, norms {_norms(given)}."]
    if without:
        sentences.append(
            f"None got: {_named(without)}. The last backward call{place} did not reach them: what they compute does not lead to "
            "the loss, is detached on the way, or their module was not called."
        )
    if facts["stale"]:
        calls = dict.fromkeys(written(call.location) for call in facts["stale"].values())
        sentences.append(
            f"Stale: {_named(facts['stale'])}. The last backward call{place} did not reach them: their gradients are from "
            f"{' and '.join(calls)}, and the next optimizer step uses them again. Call zero_grad() before each backward pass."
        )
    if facts["unreached_modules"]:
        sentences.append(f"Modules none of whose parameters got one: {_named(facts['unreached_modules'])}.")
    if facts["with_nan"]:
        sentences.append(
            f"NaN or infinite: {_named(facts['with_nan'])}. Run the step inside rushlight.find_nonfinite() to see where from."
        )
    if facts["with_zero"]:
        sentences.append(
            f"All zeros: {_named(facts['with_zero'])}. A saturated or dead unit, or a mask, stops the gradient."
        )
    return sentences


def _stale(parameters, names):
    """``{name: call}`` of those whose gradients an earlier backward call wrote, where the last one reached others."""
    last, calls = modes.state.last_backward, {name: parameters[name]._grad_call for name in names}
    if last is None or all(call is not last for call in calls.values()):
        return {}
    return {name: call for name, call in calls.items() if call is not None and call is not last}


def _norms(given):
    norms = sorted((grad.norm().item(), name) for name, grad in given.items())
    (low, first), (high, last) = norms[0], norms[-1]
    return f"{low:.3g} (`{first}`)" if len(norms) == 1 else f"{low:.3g} (`{first}`) to {high:.3g} (`{last}`)"


def _whole_modules(module, without):
    """The largest modules inside ``module`` of whose parameters none got a gradient."""
    missing, found = set(without), []
    for path, each in module.named_modules():
        own = {f"{path}.{name}" for name, parameter in each.named_parameters() if parameter.requires_grad}
        if path and own and own <= missing and not any(path.startswith(outer + ".") for outer in found):
            found.append(path)
    return found
