"""Line charts: ticks, axes, legend, and pictures that are well-formed."""

import xml.etree.ElementTree as ElementTree

import pytest

from rushlight.draw import Curve, Series
from rushlight.draw.curve import Scale, round_step

SVG = "{http://www.w3.org/2000/svg}"


def chart():
    return Curve(
        [
            Series("loss", [1, 2, 3], [2.3, 1.1, 0.6]),
            Series("accuracy", [1, 2, 3], [50.0, 80.0, 95.0], axis="right"),
        ],
        title="A < B",
        x="epoch",
        left="loss",
        right="accuracy (%)",
        x_range=(0, 3),
        right_range=(50, 100),
    )


def test_chart_is_well_formed_and_complete(tmp_path):
    chart().save(tmp_path / "chart.svg")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert root.tag == f"{SVG}svg"
    written = [element.text for element in root.iter(f"{SVG}text")]
    for expected in ("A < B", "loss", "accuracy", "epoch", "accuracy (%)", "0.5", "2.5", "50", "100"):
        assert expected in written
    lines = list(root.iter(f"{SVG}polyline"))
    assert len(lines) == 2 and all(len(line.get("points").split()) == 3 for line in lines)
    assert chart()._repr_svg_() == chart().svg()


def test_points_that_are_not_finite_are_left_out():
    series = Series("loss", [1, 2, 3], [1.0, float("nan"), float("inf")])
    assert series.points == [(1.0, 1.0)]
    ElementTree.fromstring(Curve([series]).svg())
    ElementTree.fromstring(Curve([Series("empty", [], [])]).svg())


@pytest.mark.parametrize("rough, step", [(0.9, 1), (1.2, 2), (3, 5), (6, 10), (0.03, 0.05), (120, 200)])
def test_steps_are_round(rough, step):
    assert round_step(rough) == pytest.approx(step)


def test_ticks_cover_the_values():
    scale = Scale([0.13, 2.31], None, 0, 100)
    assert scale.ticks[0] <= 0.13 and scale.ticks[-1] >= 2.31
    assert [scale.label(value) for value in scale.ticks] == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]
    assert scale(scale.low) == 0 and scale(scale.high) == 100
    assert Scale([1.0], None, 0, 100)(1.0) == pytest.approx(50)


def test_wrong_series():
    with pytest.raises(ValueError, match="'a' has 2 x values and 1 y values"):
        Series("a", [1, 2], [1])
    with pytest.raises(ValueError, match="axis must be 'left' or 'right', got 'top'"):
        Series("a", [1], [1], axis="top")
