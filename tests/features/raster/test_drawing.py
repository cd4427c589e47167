"""Drawn pixels: by hand, of OpenCV 4.8.1 in a file, and of OpenCV where it is installed."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.shared_data import DATA, needs_data

from mapgauge.features.raster.drawing_kernels import draw, spread

FIXTURES = "raster_reference/opencv_fixtures.json"


def drawn(
    points: list[list[int]],
    thickness: int = 1,
    *,
    filled: bool = False,
    shape: tuple[int, int] = (7, 12),
    reach: int = 0,
) -> NDArray[np.uint8]:
    image = np.zeros(shape, np.uint8)
    corners = np.array(points, np.int64).reshape(-1, 2)
    draw(image, corners, np.array([0, len(corners)]), np.array([filled]), thickness, reach)
    return image


def picture(image: NDArray[np.uint8]) -> str:
    return "\n".join("".join(".#"[value] for value in row).rstrip(".") for row in image).strip("\n")


def test_a_thin_line_is_bresenhams() -> None:
    assert picture(drawn([[1, 1], [9, 4]])) == ".##\n...###\n......##\n........##"


def test_a_wide_line_has_round_ends() -> None:
    """OpenCV draws thickness 3 five pixels wide, and thickness 5 seven."""
    rows = ["...######", "..########", ".##########", "..########", "...######"]
    assert picture(drawn([[3, 3], [8, 3]], 3)) == "\n".join(rows)
    rows = [".....#", "...#####", "...#####", "..#######", "...#####", "...#####", ".....#"]
    assert picture(drawn([[5, 3], [5, 3]], 5)) == "\n".join(rows)


def test_a_polygon_is_closed_and_filled() -> None:
    square = [[2, 1], [6, 1], [6, 4], [2, 4]]
    assert picture(drawn(square, filled=True)) == "\n".join(["..#####"] * 4)
    assert (drawn([*square, square[0]], filled=True) == drawn(square, filled=True)).all()


def test_a_polygon_that_covers_the_image_fills_it() -> None:
    assert drawn([[-5, -5], [30, -5], [30, 20], [-5, 20]], filled=True).all()


@pytest.mark.parametrize("width", [1, 3, 5])
@pytest.mark.parametrize("filled", [False, True])
def test_lines_outside_draw_nothing(width: int, filled: bool) -> None:
    far = 1 << 20
    for points in ([[-9, -9], [-9, 40]], [[40, 3], [far, 3], [far, 5]], [[-far, -far], [far, -far], [far, -far + 9]]):
        assert not drawn(points, width, filled=filled).any()


def test_a_line_across_the_border_is_cut() -> None:
    assert picture(drawn([[-1000000, 3], [1000000, 3]])) == "#" * 12
    assert picture(drawn([[-1000000, 3], [1000000, 3]], 3)) == "\n".join(["#" * 12] * 5)


def test_the_last_row_of_a_wide_line_has_its_outline_only() -> None:
    """Seen only where the border of the image cuts the line. Pixels of OpenCV 4.8.1."""
    assert picture(drawn([[14, -4], [10, -2]], 3)) == "..........#"
    assert picture(drawn([[7, -1], [6, -3]], 3)) == "......###\n.......#"


def test_spreading_makes_squares() -> None:
    image = drawn([[0, 0], [0, 0]])
    image[4, 6] = 1
    other = np.empty_like(image)
    spread(image, other, 2)
    assert picture(image) == "\n".join(["###", "###", "###.#####", *["....#####"] * 4])


def fixtures() -> list[dict[str, Any]]:
    path = DATA / FIXTURES
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []
    return cases


@needs_data(FIXTURES)
def test_pixels_are_those_of_opencv_4_8() -> None:
    cases = fixtures()
    assert len(cases) > 50
    for case in cases:
        for key, reach in (("runs", 0), ("dilated_5x5", 2)):
            expected = np.zeros((32, 48), np.uint8)
            for row, first, length in case[key]:
                expected[row, first : first + length] = 1
            filled, width = case["kind"] == "polygon", case.get("thickness") or 1
            image = drawn(case["points"], width, filled=filled, shape=expected.shape, reach=reach)
            assert (image == expected).all(), case["points"]


def test_pixels_are_those_of_an_installed_opencv(rng: np.random.Generator) -> None:
    """Inside of the image, where all versions draw alike."""
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed")
    for _ in range(300):
        points, width = rng.integers(8, [90, 52], (rng.integers(2, 9), 2)), int(rng.choice([1, 3, 5]))
        image = drawn(points.tolist(), width, shape=(60, 98))
        expected = np.zeros((60, 98), np.uint8)
        cv2.polylines(expected, [points.astype(np.int32)], False, 1, width)
        assert (image == expected).all(), points.tolist()
