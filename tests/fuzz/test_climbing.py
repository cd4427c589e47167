"""Hill climbing against the axioms: local moves that bring SOSPA and PLD closer to a violation, or leave it as close.

A metric obeys the triangle inequality, is symmetric, is 0 for equal arguments, and stays within its bounds. A climb
begins at random lines and keeps every move after which the violation is not smaller. Most climbs therefore reach the
border, where both sides of an inequality are equal, and wander along it. Only rounding may carry them across.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.arrays import Points
from tests.properties.test_all_orders import CUTOFFS, ORDERS, resolution

import mapgauge as mg

QUICK = 1600  # moves per metric in `make test`; `make fuzz` asks for more
LENGTH = 200  # moves of a climb
SEED = int(os.environ.get("MAPGAUGE_FUZZ_SEED", "15"))
Rng = np.random.Generator


@dataclass(frozen=True)
class Instances:
    """A set of polylines with confidences. For SOSPA, the set has one polyline."""

    lines: tuple[Points, ...]
    confidence: tuple[float, ...]


Triple = tuple[Instances, Instances, Instances]


@dataclass(frozen=True)
class Form:
    """A form of a metric."""

    cutoff: float
    order: float
    closed: bool
    directed: bool
    normalised: bool

    @property
    def slack(self) -> float:
        """Below this, powers of distances lose digits."""
        return resolution(1.0 if self.normalised else self.cutoff, self.order)


Distance = Callable[[Form, Instances, Instances], float]


def sospa(form: Form, x: Instances, y: Instances) -> float:
    return mg.sospa(
        x.lines[0],
        y.lines[0],
        cutoff=form.cutoff,
        order=form.order,
        closed=form.closed,
        directed=form.directed,
        normalised=form.normalised,
    )


def pld(form: Form, x: Instances, y: Instances) -> float:
    result = mg.pld(
        x.lines,
        y.lines,
        confidence=x.confidence,
        truth_confidence=y.confidence,
        cutoff=form.cutoff,
        order=form.order,
        closed=form.closed,
        directed=form.directed,
    )
    return result.normalised if form.normalised else result.value


def most_of(distance: Distance, form: Form, x: Instances, y: Instances) -> float:
    """The largest value that the definition allows."""
    if form.normalised:
        return 1.0
    if distance is pld:
        return math.pow(math.fsum((*x.confidence, *y.confidence)) / 2, 1 / form.order)
    return form.cutoff * math.pow((len(x.lines[0]) + len(y.lines[0])) / 2, 1 / form.order)


# An objective returns by how much an axiom is violated, relative to the sizes of the numbers. Above 0 is a violation.


def triangle(distance: Distance, form: Form, triple: Triple) -> float:
    x, y, z = triple
    direct, detour = distance(form, x, z), distance(form, x, y) + distance(form, y, z)
    return (direct - detour * (1 + tolerance(distance)) - form.slack) / (direct + detour or 1.0)


def symmetry(distance: Distance, form: Form, triple: Triple) -> float:
    x, _, z = triple
    forth, back = distance(form, x, z), distance(form, z, x)
    return (abs(forth - back) - tolerance(distance) * forth - form.slack) / (forth + back or 1.0)


def identity(distance: Distance, form: Form, triple: Triple) -> float:
    """The distance of equal things. A ring is also equal to its shifts, and an undirected line to its reverse."""
    x = triple[0]
    if form.closed and any(len(line) > 2 and repeats(line) for line in x.lines):
        return distance(form, x, x)
    other = []
    for k, line in enumerate(x.lines):
        same = np.roll(line, k + 1, axis=0) if form.closed else line
        other.append(same if form.directed else same[::-1])
    return distance(form, x, replace(x, lines=tuple(other)))


def bounds(distance: Distance, form: Form, triple: Triple) -> float:
    x, _, z = triple
    value, most = distance(form, x, z), most_of(distance, form, x, z)
    assert value >= 0
    return (value - most * (1 + tolerance(distance))) / (most or 1.0)


OBJECTIVES = (triangle, triangle, triangle, symmetry, identity, bounds)


def tolerance(distance: Distance) -> float:
    """The relative rounding of sums of some powers."""
    return 1e-11 if distance is sospa else 1e-10


def repeats(line: Points) -> bool:
    return bool((line == np.roll(line, 1, axis=0)).all(axis=1).any())


def line_of(rng: Rng, scale: float) -> Points:
    points = rng.normal(0, scale, (int(rng.integers(1, 8)), 2))
    return np.round(points / scale * 4) / 4 * scale if rng.random() < 0.5 else points  # a lattice has ties


def start(rng: Rng, form: Form, most: int) -> Triple:
    def some() -> Instances:
        count = 1 if most == 1 else int(rng.integers(0, most + 1))
        scale = min(form.cutoff, 1e3) * float(rng.choice([0.1, 0.5, 1.5]))
        confidence = tuple(float(rng.choice([0.0, 0.3, 0.5, 1.0, rng.random()])) for _ in range(count))
        return Instances(tuple(line_of(rng, scale) for _ in range(count)), confidence)

    x, y, z = some(), some(), some()
    return x, y, z


def moved(rng: Rng, form: Form, triple: Triple, most: int) -> Triple:
    """A triple with one small change."""
    sides = list(triple)
    k = int(rng.integers(3))
    other = sides[int(rng.integers(3))]
    kind = rng.random()
    if kind < 0.05:
        sides[k] = other
    elif kind < 0.08:
        return triple[2], triple[1], triple[0]
    elif kind < 0.16 and most > 1:
        sides[k] = _with_other_instances(rng, sides[k], other, most)
    elif sides[k].lines:
        lines = list(sides[k].lines)
        i = int(rng.integers(len(lines)))
        near = other.lines[int(rng.integers(len(other.lines)))] if other.lines else lines[i]
        lines[i] = _moved_line(rng, form, lines[i], near)
        sides[k] = replace(sides[k], lines=tuple(lines))
    return sides[0], sides[1], sides[2]


def _with_other_instances(rng: Rng, side: Instances, other: Instances, most: int) -> Instances:
    """Change a confidence, drop an instance, or take one from another set."""
    lines, confidence = list(side.lines), list(side.confidence)
    kind = rng.integers(3)
    if kind == 0 and lines:
        i = int(rng.integers(len(lines)))
        confidence[i] = float(rng.choice([0.0, 1.0, rng.random(), *other.confidence]))
    elif kind == 1 and lines:
        i = int(rng.integers(len(lines)))
        del lines[i], confidence[i]
    elif other.lines and len(lines) < most:
        i = int(rng.integers(len(other.lines)))
        lines.append(other.lines[i])
        confidence.append(other.confidence[i])
    return Instances(tuple(lines), tuple(confidence))


def _moved_line(rng: Rng, form: Form, line: Points, near: Points) -> Points:
    """Move, add or drop a point, turn or shift the line, or bring a point to a place where something changes."""
    kind = int(rng.integers(10))
    i, j = int(rng.integers(len(line))), int(rng.integers(len(near)))
    line = line.copy()
    angle = rng.random() * 2 * math.pi
    away = np.array([math.cos(angle), math.sin(angle)])
    if kind <= 2:
        line[i] += away * form.cutoff * 10 ** rng.uniform(-14, 0.3)
    elif kind == 3:
        line[i] = near[j]
    elif kind == 4:  # almost at the cutoff, where a match ends
        line[i] = near[j] + away * form.cutoff * (1 + float(rng.choice([0, 1e-15, -1e-15, 1e-9, -1e-9])))
    elif kind == 5 and len(line) < 12:
        line = np.insert(line, i, near[j], axis=0)
    elif kind == 6 and len(line) > 1:
        line = np.delete(line, i, axis=0)
    elif kind == 7:
        line = np.roll(line, 1, axis=0) if form.closed else line[::-1].copy()
    elif kind == 8 and len(line) == len(near):
        line = (line + near) / 2
    else:
        line += away * form.cutoff * 10 ** rng.uniform(-12, 0)
    return line


def climb(distance: Distance, rng: Rng, most: int) -> tuple[float, str]:
    """Climb once. Return the largest violation, and where it was."""
    form = Form(
        cutoff=float(rng.choice(CUTOFFS)),
        order=float(rng.choice([1.0, 1.0, 1.0, *ORDERS, rng.uniform(1, 32)])),
        closed=bool(rng.integers(2)),
        directed=bool(rng.integers(2)),
        normalised=bool(rng.integers(2)),
    )
    objective = OBJECTIVES[rng.integers(len(OBJECTIVES))]
    here = start(rng, form, most)
    score = objective(distance, form, here)
    for _ in range(LENGTH):
        there = moved(rng, form, here, most)
        reached = objective(distance, form, there)
        if reached >= score:
            here, score = there, reached
    return score, f"{objective.__name__}, {form}, {here}"


def attack(distance: Distance, most: int, moves: int) -> list[str]:
    """Climb many times. Return what violates an axiom."""
    violations = []
    for number in range(moves // LENGTH):
        score, where = climb(distance, np.random.default_rng([SEED, number]), most)
        if not score <= 0:
            violations.append(f"seed {SEED}, climb {number}: {score:.3g} in {where}")
    return violations


METRICS = pytest.mark.parametrize(("distance", "most"), [(sospa, 1), (pld, 3)], ids=["sospa", "pld"])


@METRICS
def test_climbing_finds_no_violation(distance: Distance, most: int) -> None:
    assert attack(distance, most, QUICK) == []


@pytest.mark.fuzz
@METRICS
def test_long_climbing_finds_no_violation(distance: Distance, most: int) -> None:
    assert attack(distance, most, int(os.environ.get("MAPGAUGE_FUZZ_MOVES", "300000"))) == []


def test_climbing_finds_the_violation_of_something_that_is_no_metric() -> None:
    """Squares of distances break the triangle inequality."""

    def squared(form: Form, x: Instances, y: Instances) -> float:
        return sospa(form, x, y) ** 2

    assert len(attack(squared, 1, QUICK)) > QUICK // LENGTH // 10
