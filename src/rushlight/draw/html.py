"""The graph as a page: the boxes of svg.py, the levels as JSON, and scripts that place, fold, select and play them."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template

from .cards import Cards
from .collect import OPERATION
from .levels import IN, OUT
from .rules import rule_of
from .style import FONT, variable_sheet
from .svg import legend_of, summary_of

PAGE = Path(__file__).with_name("page")
SCRIPTS = ("place.js", "view.js", "panel.js", "player.js", "main.js")


def to_html(model, tree, levels, opened, steps):
    """The page of a `Model`; the groups in `opened` are unfolded at first."""
    cards = Cards(model, tree, levels, played=bool(steps))
    made = {}
    for level in levels:
        for spot in level.spots:
            if spot.item is not None and spot.item[0] not in (IN, OUT):
                made[key_of(spot.item)] = cards.card(spot.item)
    layout = {
        "levels": [level_data(level) for level in levels],
        "extents": {key: [round(each, 1) for each in card.extent] for key, card in made.items()},
        "opened": sorted(opened),
    }
    template = Template((PAGE / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(", ".join(result.title for result in model.results)),
        summary=escape(summary_of(model)),
        legend=legend(model),
        style=f"body{{font-family:{FONT}}}\n" + variable_sheet() + (PAGE / "page.css").read_text(encoding="utf-8"),
        cards="\n".join(f'<g id="{escape(key)}" class="card">{card.markup}</g>' for key, card in made.items()),
        graph=as_json(graph_data(model, tree, steps)),
        layout=as_json(layout),
        script="\n".join((PAGE / name).read_text(encoding="utf-8") for name in SCRIPTS),
    )


def legend(model):
    """What the colours mean."""
    words = []
    for css, name in legend_of(model):
        kind, _, family = css.partition(" ")
        shape = f'<path d="M2 5h10" class="rl-stripe {family}"/>'
        if kind == "box":
            shape = f'<rect x="1" y="0.5" width="12" height="9" rx="3" class="rl-box {family}"/>'
        words.append(f'<span><svg width="14" height="10">{shape}</svg>{escape(name)}</span>')
    return "".join(words)


def as_json(data):
    """JSON that can stand inside a script element."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def key_of(item):
    """The name of an item in the page, such as ``operation-3``."""
    kind, number = item
    return f"{kind}-{'-'.join(map(str, number)) if isinstance(number, tuple) else number}"


def level_data(level):
    """A level for the page's scripts."""
    return {
        "spots": [None if spot.item is None else key_of(spot.item) for spot in level.spots],
        "rows": [[spot.number for spot in row] for row in level.rows],
        "links": [[link.upper.number, link.lower.number, key_of(link.signal), link.count] for link in level.links],
    }


def graph_data(model, tree, steps):
    """The graph as dictionaries and lists: operations, leaves, results, groups, rules and the steps of backward."""
    rules = {}
    for operation in model.operations:
        key = rule_key(operation)
        if key not in rules:
            rules[key] = rule_of(operation.op, operation.node_type).data()
    return {
        "summary": summary_of(model),
        "left_out": model.left_out,
        "saved_bytes": model.saved_bytes,
        "operations": [operation_data(operation, tree) for operation in model.operations],
        "leaves": [leaf_data(leaf) for leaf in model.leaves],
        "results": [result_data(result) for result in model.results],
        "groups": [group_data(group) for group in tree.groups],
        "rules": rules,
        "steps": [step.data() for step in steps],
    }


def rule_key(operation):
    """Operations with the same key have the same rule."""
    return operation.node_type.__name__ if operation.op is None else operation.op.name


def operation_data(operation, tree):
    label, place = tree.labels.get(operation.number), operation.place
    return {
        "title": operation.title,
        "node": operation.node_name,
        "rule": rule_key(operation),
        "family": operation.family,
        "name": operation.name,
        "module": None if label is None else label.label,
        "group": tree.home[operation.number].number,
        "place": None if place is None else {"file": place.file, "line": place.line, "code": place.code},
        "outputs": [None if each is None else {"shape": list(each[0]), "dtype": each[1]} for each in operation.outputs],
        "inputs": [None if each is None else source_data(each) for each in operation.inputs],
        "hidden_inputs": operation.hidden_inputs,
        "saved": [
            {"name": s.name, "shape": list(s.shape), "dtype": s.dtype, "bytes": s.bytes, "source": s.source}
            for s in operation.saved
        ],
        "freed": operation.freed,
        "gradients": {str(number): each.data() for number, each in operation.gradients.items()},
    }


def source_data(source):
    return {"kind": source[0], "number": source[1], "output": source[2] if source[0] == OPERATION else 0}


def leaf_data(leaf):
    return {
        "name": leaf.label,
        "parameter": leaf.is_parameter,
        "shape": list(leaf.shape),
        "dtype": leaf.dtype,
        "uses": leaf.uses,
        "gradient": None if leaf.gradient is None else leaf.gradient.data(),
    }


def result_data(result):
    return {
        "title": result.title,
        "name": result.name,
        "shape": list(result.shape),
        "dtype": result.dtype,
        "source": source_data(result.source),
    }


def group_data(group):
    return {
        "name": group.name,
        "class": group.class_name,
        "label": group.label,
        "parent": None if group.parent is None else group.parent.number,
        "operations": sorted(group.operations),
        "groups": [inner.number for inner in group.groups],
    }
