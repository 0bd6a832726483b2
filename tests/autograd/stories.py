"""Stories: functions ``story(torch, note)`` that note what happens; told in Rushlight and in PyTorch, and compared."""

import difflib
import re
import warnings

import rushlight as rl


class Notes:
    """What a story saw: printed forms, error types with their first lines, warnings."""

    def __init__(self):
        self.lines = []
        self.unhinted = []  # errors of PyTorch's own wording that say nothing of ours below it

    def __call__(self, label, action):
        """Run ``action`` and note what it returned, raised and warned of."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", "Using backward|Input #|`torch.jit")  # once a process; advice
            try:
                outcome = repr(action())
            except Exception as error:
                outcome = f"!! {type(error).__name__}: {first_line(error)}"
                if (
                    "hint:" not in str(error)
                    and "boom" not in str(error)
                    and not isinstance(error, (AttributeError, ZeroDivisionError))
                ):
                    self.unhinted.append(f"{label}: {error}")
        self.lines.append(f"{label} -> {neutral(outcome)}")
        self.lines += [f"  warned {item.category.__name__}: {first_line(item.message)}" for item in caught]


def first_line(error):
    return neutral(str(error).split("\n")[0])


def neutral(text):
    """Text without what differs for good reason: package name, addresses, where PyTorch's C++ source raised."""
    text = re.sub(r" \(Triggered internally at .*", "", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text.replace("rushlight.", "torch.").split("\nhint:")[0])


def assert_same_story(story, torch, hints=True):
    """Tell ``story(torch, note)`` in both libraries; every line must be equal, and our errors must carry a hint."""
    ours, theirs = Notes(), Notes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        story(rl, ours)
        story(torch, theirs)
    difference = [line for line in difflib.ndiff(theirs.lines, ours.lines) if not line.startswith(("  ", "?"))]
    assert not difference, "\n" + "\n".join(difference)
    assert not (hints and ours.unhinted), ours.unhinted


def leaf(torch, *values, **options):
    """A tensor that requires grad: of one dimension, or of none for a single value."""
    return torch.tensor(values if len(values) > 1 else values[0], requires_grad=True, **options)


def function_class(torch, forward, backward=None, **members):
    """A custom Function with these static methods; members that cannot be called are attributes."""
    body = {"forward": staticmethod(forward)}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    body |= {name: staticmethod(member) if callable(member) else member for name, member in members.items()}
    return type("Made", (torch.autograd.Function,), body)
