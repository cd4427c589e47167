"""A junction that several scenes drive through, and predictions with planted failures."""

from dataclasses import replace

import numpy as np

import mapgauge as mg

REGION = (60.0, 30.0)
ORIGIN = np.array([1000.3, 2000.7])
TURN = 0.37  # radians: no road runs along an axis
SCENES = 6
FRAMES = 15
SHARE = 0.6  # of the frames that do not have the arm


def _placed(points: list[list[float]]) -> np.ndarray:
    """Points of the junction in the world."""
    c, s = np.cos(TURN), np.sin(TURN)
    placed: np.ndarray = np.array(points) @ np.array([[c, s], [-s, c]]) + ORIGIN
    return placed


# The road of the drive, an arm to the left, and a crossing.
ROAD = {
    "divider": [_placed([[-80, 0], [80, 0]])],
    "boundary": [
        _placed([[-80, -7], [80, -7]]),
        _placed([[-80, 7], [-4, 7], [-4, 40]]),
        _placed([[4, 40], [4, 7], [80, 7]]),
    ],
    "ped_crossing": [_placed([[20, -6], [24, -6], [24, 6], [20, 6], [20, -6]])],
}
ARM = {"divider": [_placed([[0, 9], [0, 40]])]}


def _frames(world: dict[str, list[np.ndarray]]) -> mg.MapFrames:
    """The world as seen from every pose, cut to the region."""
    poses, scenes, times, tokens, groups = [], [], [], [], {}
    for scene in range(SCENES):
        for k in range(FRAMES):
            angle = TURN + (np.pi if scene % 2 else 0) + 0.02 * scene
            along = (-30 + 4 * k) * (-1 if scene % 2 else 1)
            (place,) = _placed([[along, -2.0 + scene % 3]])
            pose = np.eye(4)
            pose[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            pose[:2, 3] = place
            token = f"{scene}-{k:02d}"
            poses.append(pose)
            scenes.append(f"scene-{scene}")
            times.append(1_000_000_000 * (100 * scene + k))
            tokens.append(token)
            groups[token] = {name: [(line - place) @ pose[:2, :2] for line in lines] for name, lines in world.items()}
    made = mg.MapFrames.of(groups, classes=("divider", "ped_crossing", "boundary"))
    made = replace(made, poses=np.array(poses), scenes=tuple(scenes), timestamps=np.array(times))
    return made.crop(REGION)


def truth() -> mg.MapFrames:
    """The junction with its arm."""
    return _frames({name: ROAD[name] + ARM.get(name, []) for name in ROAD})


def perfect() -> mg.MapFrames:
    """Predictions of everything."""
    return truth().with_confidence(0.8)


def predictions() -> mg.MapFrames:
    """Predictions without the arm in six of ten frames, and with a crossing that is one metre off."""
    moved = {**ROAD, "ped_crossing": [line + _placed([[1, 0]])[0] - ORIGIN for line in ROAD["ped_crossing"]]}
    bare, whole = (_frames(world) for world in (moved, {**moved, "divider": moved["divider"] + ARM["divider"]}))
    parts = [(bare if k % 10 < 10 * SHARE else whole).at([k]) for k in range(len(bare))]
    lines, confidence = {}, {}
    for part in parts:
        (token,) = part.tokens
        groups: dict[str, list[np.ndarray]] = {name: [] for name in part.classes}
        for instance in part[token]:
            groups[instance.class_name].append(instance.points)
        lines[token] = groups
        confidence[token] = {name: [0.8] * len(some) for name, some in groups.items()}
    return mg.MapFrames.of(lines, confidence=confidence, classes=bare.classes)


def evaluated(x: mg.MapFrames | None = None, y: mg.MapFrames | None = None) -> mg.Results:
    """Results of the predictions with the failures."""
    return mg.evaluate(predictions() if x is None else x, truth() if y is None else y, metrics=("pld",))
