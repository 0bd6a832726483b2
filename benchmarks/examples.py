"""Steps of the programs in examples/ beside PyTorch, as they are and with larger networks and batches.

    python benchmarks/examples.py                        # all, three minutes
    python benchmarks/examples.py --only vae vae_larger

A time is that of a step, on average over the later half of a short training; the modules take turns as in `side_by_side`.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import types
from pathlib import Path

from side_by_side import survey

EXAMPLES = Path(__file__).parent.parent / "examples"
SIZES = {  # a short training of each, and the options of the larger one
    "actor_critic": (20, "--hidden 512"),
    "autoencoder": (200, "--batch 256 --hidden 256"),
    "classify_points": (10, "--hidden 256"),
    "date_translation": (20, "--batch 128 --hidden 256"),
    "dcgan": (20, "--batch 64 --width 64"),
    "diffusion": (60, "--batch 1024 --hidden 256"),
    "fit_line": (200, ""),
    "graph_convolution": (100, "--nodes 3000 --hidden 64"),
    "language_model": (20, "--batch 32 --length 64 --width 128"),
    "lstm_sequence": (60, "--batch 64 --hidden 128"),
    "mixture_density": (60, "--batch 1024 --hidden 128"),
    "name_languages": (60, "--batch 128 --hidden 256"),
    "name_writer": (40, "--batch 128 --hidden 256"),
    "normalizing_flow": (40, "--batch 1024 --hidden 128"),
    "saliency": (40, "--batch 64 --width 32"),
    "siamese": (30, "--batch 128 --width 32"),
    "vae": (200, "--batch 256 --hidden 256"),
}


def load(name, module):
    """The example called ``name`` as a module, with the framework called ``module`` in the place of Rushlight."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    path = EXAMPLES / f"{name}.py"
    source = path.read_text(encoding="utf-8").replace("import rushlight as torch", f"import {module} as torch")
    example = types.ModuleType(name)
    exec(compile(source, path, "exec"), example.__dict__)
    return example


def seconds_of_a_step(training, spell):
    """What a step of an example takes: ``training`` is the example and its arguments."""
    example, arguments = training

    class Timed(example.Progress):
        def __iter__(self):
            for step in super().__iter__():
                if step == self.steps // 2 + 1:
                    self.began_later_half = time.perf_counter()
                yield step
            found.append((time.perf_counter() - self.began_later_half) / (self.steps - self.steps // 2))

    found, example.Progress = [], Timed
    with contextlib.redirect_stdout(io.StringIO()):
        example.main(arguments)
    return found[0]


def workloads():
    """Names of rows -> functions that take the module and give a training for `seconds_of_a_step`."""
    rows = {}
    for name, (steps, larger) in SIZES.items():
        for row, more in ((name, ""), (f"{name}_larger", larger)):
            arguments = ["--steps", str(steps), *more.split()]
            rows[row] = lambda torch, name=name, arguments=arguments: (load(name, torch.__name__), arguments)
    del rows["fit_line_larger"]  # a line has no width
    return rows


if __name__ == "__main__":
    survey(__file__, __doc__, workloads(), measure=seconds_of_a_step)
