"""``rushlight graph``: run a script, and draw the graph of each loss that it calls backward on."""

from __future__ import annotations

import os

from rushlight import Tensor, autograd, draw
from rushlight.base.user_code import user_location
from rushlight.draw.drawing import watcher

from .demo import prepare_folder
from .errors import CommandError
from .run import run_script

PATIENCE = 20  # backward calls in a row that bring nothing new; then the script goes on at full speed


def execute(options):
    """Run the script with everything watched; returns its exit status."""
    prepare_folder(options.output)
    watch = Watch(options)
    with watch:
        status = run_script(options.script, options.arguments)
    return status


class Watch:
    """A context in which calls of ``backward`` draw the graph they run through, once for each new place or shape."""

    def __init__(self, options):
        self.options, self.stem = options, os.path.splitext(os.path.basename(options.script))[0]
        self.sites = {}  # file and line of a backward call -> its Site
        self.written, self.idle = [], 0

    def __enter__(self):
        self.originals = Tensor.backward, autograd.backward
        method, function = self.originals

        def backward(tensor, *rest, **options):
            self.look([tensor], lambda: method(tensor, *rest, **options))

        def backward_of_several(tensors, *rest, **options):
            listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
            self.look(listed, lambda: function(tensors, *rest, **options))

        Tensor.backward, autograd.backward = backward, backward_of_several
        self.trace = draw.trace()
        self.trace.__enter__()
        return self

    def __exit__(self, kind, value, trace):
        Tensor.backward, autograd.backward = self.originals
        self.stop_tracing()
        self.report()

    def stop_tracing(self):
        if self.trace is not None:
            self.trace.__exit__(None, None, None)
            self.trace = None

    def look(self, tensors, run):
        """Run a backward call; draw its graph if this place has not had all its drawings yet and the graph is new."""
        place = user_location()
        site = self.sites.setdefault(place, Site())
        tracked = all(getattr(each, "requires_grad", False) for each in tensors)
        if not tracked or len(site.shapes) >= self.options.max or site.idle >= PATIENCE or not site.is_new(tensors):
            self.idle += 1
            if self.idle >= PATIENCE:
                self.stop_tracing()
            run()
            return
        self.idle = 0
        with watcher(tensors) as recorder:
            run()
        drawing = draw.Drawing(recorder.model, recorder.steps, self.options.depth)
        self.write(drawing, place, len(site.shapes))

    def write(self, drawing, place, number):
        """Save one drawing under a name that tells the script, the line and which drawing of that line it is."""
        file, line = place
        stem = os.path.splitext(os.path.basename(file))[0]
        name = "-".join([stem, f"line{line}", *([str(number)] if number > 1 else [])])
        suffix = "txt" if self.options.format == "text" else self.options.format
        path = os.path.normpath(os.path.join(self.options.output, f"{name}.{suffix}"))
        try:
            drawing.save(path)
        except OSError as error:
            raise CommandError(f"cannot write {path}: {error.strerror}") from error
        titles = ", ".join(result.title for result in drawing.model.results)
        self.written.append((path, f"{titles}: {drawing.model.total:,} operations ({os.path.basename(file)}:{line})"))

    def report(self):
        """Say what was written."""
        for path, about in self.written:
            print(f"wrote {path}  {about}", flush=True)
        if not self.written:
            print("nothing was drawn: the script called backward() on no tensor with a graph", flush=True)


class Site:
    """A line that calls backward: the shapes of its graphs so far, and for how many calls there was no new one."""

    def __init__(self):
        self.shapes, self.idle = set(), 0

    def is_new(self, tensors):
        """Whether the graph of `tensors` has another shape than all before it; it has been seen from now on."""
        shape = tuple(
            (operation.node_name, tuple(operation.outputs), tuple(each for each in operation.inputs if each))
            for operation in draw.graph(tensors).model.operations
        )
        self.idle = self.idle + 1 if shape in self.shapes else 0
        self.shapes.add(shape)
        return not self.idle
