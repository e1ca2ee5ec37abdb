"""Colours: enough contrast with their ground, and different for colour-blind eyes."""

import itertools
import re
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import pytest

CSS = (files("mixnorm.report") / "page.css").read_text(encoding="utf-8")
SCHEMES = [dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)]
METHODS = [f"s{number}" for number in range(9)]
# What dichromats see of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHT = {
    "all cones": np.eye(3),
    "no red cones": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "no green cones": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])

Colour = npt.NDArray[np.float64]


def linear(colour: str) -> Colour:
    values = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(first: str, second: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) + 0.05 for colour in (first, second))
    return high / low


def lab(rgb: Colour) -> Colour:
    x, y, z = np.cbrt(np.clip(TO_XYZ @ rgb, 0, None) / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_light_dark_and_paper_define_all_colours() -> None:
    assert len(SCHEMES) == 3
    assert all(set(scheme) == set(SCHEMES[0]) for scheme in SCHEMES)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", ["ground", "panel"])
def test_contrast_is_that_of_the_accessibility_guidelines(scheme: dict[str, str], ground: str) -> None:
    assert all(contrast(scheme[name], scheme[ground]) >= 3 for name in METHODS)
    assert all(contrast(scheme[name], scheme[ground]) >= 4.5 for name in ("text", "faint", "right", "wrong"))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("sight", SIGHT)
def test_methods_have_different_colours_for_all_eyes(scheme: dict[str, str], sight: str) -> None:
    seen = {name: lab(SIGHT[sight] @ linear(scheme[name])) for name in METHODS}
    distances = {
        (first, second): float(np.linalg.norm(seen[first] - seen[second]))
        for first, second in itertools.combinations(METHODS, 2)
    }
    assert min(distances.values()) > 15, min(distances.items(), key=lambda item: item[1])
