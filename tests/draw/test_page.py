"""The page in a real browser, where there is one: it places as place.py does, folds, and plays to the asked step."""

import re
import shutil
import subprocess
from html import unescape

import pytest
from subjects import Tower

import rushlight as rl
from rushlight.draw import graph, trace
from rushlight.draw.cards import Cards
from rushlight.draw.place import place_groups

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


@pytest.fixture(scope="module")
def drawing():
    rl.manual_seed(0)
    model = Tower()
    with trace():
        loss = model(rl.rand(3, 2)).sum()
    return graph(loss, play=True, depth=2)


@pytest.fixture(scope="module")
def show(drawing, tmp_path_factory):
    """A function that gives the page's elements after its scripts have run, at the given address."""
    folder = tmp_path_factory.mktemp("page")
    drawing.save(folder / "page.html")

    def shown(fragment):
        place = f"file://{folder}/page.html#{fragment}"
        options = [*QUIET, f"--user-data-dir={folder / 'profile'}", "--dump-dom", "--virtual-time-budget=3000", place]
        done = subprocess.run([BROWSER, *options], capture_output=True, text=True, timeout=120, check=True)
        return done.stdout

    return shown


def boxes_of(page):
    """``{name: (x, y)}`` of the boxes on the canvas."""
    world = page.partition('<g id="world"')[2].partition("</svg>")[0]
    found = re.findall(
        r'<g id="([a-z]+-[\d\w-]+)" class="card[^"]*" transform="translate\(([-\d.]+) ([-\d.]+)\)"', world
    )
    return {name: (float(x), float(y)) for name, x, y in found}


def panel_of(page):
    """What the panel says."""
    return unescape(re.sub(r"<[^>]*>", "", page.partition('<aside id="panel">')[2].partition("</aside>")[0]))


def expected_boxes(drawing, opened):
    """Where place.py puts them."""
    levels = drawing.levels()
    cards = Cards(drawing.model, drawing.tree, levels, played=True)
    placed = place_groups(levels, opened, lambda item: cards.card(item).extent)
    found, waiting = {}, [(0, 0.0, 0.0)]
    while waiting:
        number, x, y = waiting.pop()
        level = placed[number]
        for spot in level.level.spots:
            if spot.item is None or spot.item[0] in ("in", "out"):
                continue
            center, middle = x + level.x[spot.number], y + level.y[spot.number]
            inner = placed.get(spot.item[1]) if spot.item[0] == "group" else None
            if inner is None:
                found[f"{spot.item[0]}-{spot.item[1]}"] = center, middle
            else:
                waiting.append((spot.item[1], center - inner.width / 2, middle - inner.whole / 2))
    return found


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_boxes_stand_where_place_puts_them(drawing, show, depth):
    opened = drawing.tree.open_to(depth)
    found = boxes_of(show(f"open={','.join(map(str, sorted(opened)))}"))
    expected = expected_boxes(drawing, opened)
    assert set(found) == set(expected)
    for name, place in expected.items():
        assert found[name] == pytest.approx(place, abs=1.0), name


def test_slider_shows_the_step(drawing, show):
    step = 1 + next(n for n, step in enumerate(drawing.steps) if step.kind == "operation" and n > 3)
    page = show(f"step={step}&open={','.join(str(group.number) for group in drawing.tree.groups)}&theme=dark")
    current = drawing.steps[step - 1]
    assert f'id="operation-{current.number}" class="card done current selected"' in page
    assert '<html lang="en" data-theme="dark">' in page
    panel = panel_of(page)
    assert f"Step {step} of {len(drawing.steps)}" in panel
    assert drawing.model.operations[current.number].node_name in panel
    norm = f"‖∇‖ {float(f'{current.incoming[0].norm:.4g}'):g}"
    assert norm in panel and "Gradients that went out" in panel and "def " in panel


def test_selection_tells_what_is_known(drawing, show):
    number = next(each.number for each in drawing.model.operations if each.title == "Tanh")
    page = show(f"select=operation-{number}")
    panel = panel_of(page)
    for expected in ("TanhBackward0", "Kept for backward", "its own result", "48 B", "Made at", "subjects.py"):
        assert expected in panel, expected
