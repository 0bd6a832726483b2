"""Stories that are told under both libraries: what came of them, and the warnings that were heard."""

import warnings


def told(story, module, unheard=()):
    """The result of ``story(module)`` as text, or the error's class and first line; and the warnings, but ``unheard`` classes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = str(story(module))
        except Exception as error:
            found = type(error).__name__, str(error).splitlines()[0].replace("rushlight.base.device", "torch")
    heard = [w for w in caught if w.category not in unheard]
    return found, [(w.category.__name__, str(w.message).partition(" (Triggered internally")[0]) for w in heard]
