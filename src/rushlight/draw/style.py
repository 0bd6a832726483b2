"""The colours and letters of drawings, light and dark, as style sheets."""

from __future__ import annotations

from string import Template

FONT = "Inter, ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, 'DejaVu Sans', sans-serif"
LIGHT = {
    "paper": "#fbfcfe", "card": "#ffffff", "line": "#d4dbe9", "ink": "#1b2440", "soft": "#5d6885", "faint": "#8d97b0",
    "edge": "#a3aec6", "accent": "#3457d5", "active": "#e8590c", "result": "#27346b", "resultink": "#ffffff",
    "parameter": "#fff7e8", "parameterline": "#e9bd6d", "parameterink": "#6d4503",
    "leaf": "#e9f8ef", "leafline": "#7cc795", "leafink": "#175231",
    "frame": "#eef2fb", "frameline": "#c9d4ec", "bad": "#d6263b", "badfill": "#fdecee", "good": "#0f8a63",
    "product": "#3b6cf0", "element": "#8a7bf0", "norm": "#12a594", "reduce": "#e0952a", "shape": "#97a3ba",
    "loss": "#e2477f", "own": "#444d66", "panel": "#ffffff", "code": "#f5f7fb", "shadow": "rgba(30,45,90,.10)",
    "word": "#8250df", "string": "#0a7f5a", "comment": "#8a93a8",
}  # fmt: skip
DARK = {
    "paper": "#10141f", "card": "#1b2130", "line": "#343d52", "ink": "#e8ecf6", "soft": "#a5afc6", "faint": "#78829b",
    "edge": "#5c6780", "accent": "#8ea6ff", "active": "#ff922b", "result": "#5a70d8", "resultink": "#ffffff",
    "parameter": "#2f2716", "parameterline": "#8d6c2b", "parameterink": "#f3d79b",
    "leaf": "#17291f", "leafline": "#3d7d55", "leafink": "#a6e3bd",
    "frame": "#161c2a", "frameline": "#2f3a54", "bad": "#ff6b7d", "badfill": "#3a1b22", "good": "#4fd1a1",
    "product": "#6f93ff", "element": "#a99df8", "norm": "#3cc9b9", "reduce": "#f0b454", "shape": "#7d8aa5",
    "loss": "#f2739f", "own": "#9aa4ba", "panel": "#151a27", "code": "#0f1420", "shadow": "rgba(0,0,0,.35)",
    "word": "#c297ff", "string": "#7bd8ae", "comment": "#76809a",
}  # fmt: skip
RULES = Template("""\
.rl-paper{fill:$paper}
.rl-box{stroke-width:1.1}
.rl-op{fill:$card;stroke:$line}
.rl-folded{fill:$card;stroke:$accent}
.rl-pile{fill:$frame;stroke:$frameline}
.rl-frame{fill:$frame;stroke:$frameline;stroke-width:1.1}
.rl-result{fill:$result;stroke:$result}
.rl-parameter{fill:$parameter;stroke:$parameterline}
.rl-leaf{fill:$leaf;stroke:$leafline}
.rl-wrong{fill:$badfill;stroke:$bad}
.rl-cut{fill:$card;stroke:$faint;stroke-dasharray:3 3}
.rl-title{font-size:13px;font-weight:600;fill:$ink}
.rl-detail{font-size:11px;fill:$soft}
.rl-module{font-size:10.5px;fill:$accent}
.rl-note{font-size:10px;fill:$faint}
.rl-gradient{font-size:10px;font-weight:600;fill:$good}
.rl-bad{fill:$bad}
.rl-result-title{font-size:13px;font-weight:600;fill:$resultink}
.rl-result-shape{font-size:11px;fill:$resultink}
.rl-parameter-name{font-size:11px;font-weight:600;fill:$parameterink}
.rl-parameter-shape{font-size:10.5px;fill:$parameterink;opacity:.75}
.rl-leaf-name{font-size:11px;font-weight:600;fill:$leafink}
.rl-leaf-shape{font-size:10.5px;fill:$leafink;opacity:.75}
.rl-frame-name,.rl-frame-class{paint-order:stroke;stroke:$frame;stroke-width:5px}
.rl-frame-name{font-size:11.5px;font-weight:600;fill:$accent}
.rl-frame-class{font-size:11px;font-weight:400;fill:$soft}
.rl-edge{fill:none;stroke:$edge;stroke-width:1.4}
.rl-tip{fill:$edge}
.rl-fold{fill:none;stroke:$accent;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round}
.rl-stripe{fill:none;stroke-width:3;stroke-linecap:round}
.rl-product{stroke:$product}.rl-element{stroke:$element}.rl-norm{stroke:$norm}.rl-reduce{stroke:$reduce}
.rl-shape{stroke:$shape}.rl-loss{stroke:$loss}.rl-own{stroke:$own}
""")
AUTO, SCHEMES = "auto", {"light": LIGHT, "dark": DARK}


def style_sheet(scheme):
    """The style sheet of an SVG file: "light", "dark", or "auto", which follows the reader's setting."""
    if scheme == AUTO:
        return RULES.substitute(LIGHT) + "@media (prefers-color-scheme:dark){\n" + RULES.substitute(DARK) + "}\n"
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be 'auto', 'light' or 'dark', got {scheme!r}")
    return RULES.substitute(SCHEMES[scheme])


def variable_sheet():
    """The style sheet of an HTML page: colours are variables that a switch exchanges."""
    variables = {
        name: ";".join(f"--{key}:{value}" for key, value in colors.items()) for name, colors in SCHEMES.items()
    }
    return (
        f":root{{color-scheme:light;{variables['light']}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{variables['dark']}}}\n"
        + RULES.substitute({key: f"var(--{key})" for key in LIGHT})
    )
