"""Ctrl-C while a context is entered or left: the modes are afterwards what they were."""

import dis
import sys

import pytest

import rushlight as torch
from rushlight.amp.state import state as amp
from rushlight.autograd.modes import state

CONTEXTS = {
    "no_grad": torch.no_grad,
    "enable_grad": torch.enable_grad,
    "inference_mode": torch.inference_mode,
    "inference_mode(False)": lambda: torch.inference_mode(False),
    "autocast": lambda: torch.autocast("cpu"),
    "autocast off": lambda: torch.autocast("cpu", enabled=False, cache_enabled=False),
}


def modes():
    switches = dict(amp.enabled), dict(amp.dtypes), amp.cache_enabled, amp.casts_to, amp.nesting
    return state.grad, state.inference, state.recording, switches


class Interrupt:
    """Raises KeyboardInterrupt at the n-th place where CPython looks for signals while a context is entered or left.

    These are the beginning of a function, and what follows a call or a jump back. The beginning of ``__exit__`` itself is
    left out: an interrupt there comes before anything of ours runs, and only Python could help.
    """

    def __init__(self, number):
        self.left, self.after = number, {}

    def __call__(self, frame, event, argument):
        name = frame.f_code.co_name
        inside = any(part.f_code.co_name in ("__enter__", "__exit__") for part in (frame, frame.f_back) if part)
        if not inside and frame.f_back and frame.f_back not in self.after:
            return None
        frame.f_trace_opcodes = True
        if event == "call":
            self.after[frame] = ""
            if name != "__exit__":
                self.look()
        elif event == "opcode":
            before = self.after.get(frame, "")
            self.after[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if before.startswith("CALL") or "JUMP_BACKWARD" in before:
                self.look()
        return self

    def look(self):
        self.left -= 1
        if self.left == 0:
            sys.settrace(None)
            raise KeyboardInterrupt


def interrupted(context, number):
    """Whether there were so many places."""
    before = sys.gettrace()
    try:
        sys.settrace(Interrupt(number))
        with context:
            pass
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("outer", [torch.enable_grad, torch.no_grad, torch.inference_mode], ids=lambda c: c.__name__)
@pytest.mark.parametrize("name", CONTEXTS)
def test_modes_survive_interrupts_at_every_place(name, outer):
    with torch.autocast("cpu"):
        pass  # what its first use makes ready is not the context's
    with outer():
        expected, number = modes(), 1
        while interrupted(CONTEXTS[name](), number):
            assert modes() == expected, number
            number += 1
        assert modes() == expected and 1 < number < 200


def test_tensors_are_marked_after_an_interrupt():
    for number in range(1, 30):
        interrupted(torch.inference_mode(), number)
    with torch.inference_mode():
        assert torch.ones(2).add(1).is_inference()
    assert not torch.ones(2).add(1).is_inference()
