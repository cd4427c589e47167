"""``propose``: splits that are disjoint in space, and balanced by tags (such as city and weather) and by geometry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mapgauge import kernels
from mapgauge.arguments import check_length
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.splits.overlap import cities_of, nearest_place, scenes_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.results.tags import Tags, tag_columns
from mapgauge.scoring.prepare import Frames, loaded
from mapgauge.typing import Flags, Floats, Indices

SHARES = {"train": 0.7, "val": 0.15, "test": 0.15}
MARGIN = 5.0  # metres
_ROUNDS = 20  # in which squares may move
CELL = 200.0  # metres; the side of the squares that are given to one split
_FAR_OFF = 0.05  # a share of a group that is farther from the wanted one is noted


@dataclass(frozen=True, eq=False, kw_only=True)
class Proposal:
    """Token lists that are disjoint in space."""

    splits: dict[str, tuple[str, ...]]  # tokens by name of the split, in the order of the frames
    dropped: tuple[str, ...]  # frames near frames of another split
    margin: float
    nearest: dict[tuple[str, str], float]  # metres between the nearest frames of two splits; infinite without any
    balance: dict[str, dict[str, float]]  # by group, such as "night": the share of its frames in each split
    cut_scenes: int  # scenes with frames in several splits
    notes: tuple[str, ...] = ()  # what could not be met


def check_shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each split. They must add up to 1."""
    wanted = dict(shares)
    if len(wanted) < 2 or not all(share > 0 for share in wanted.values()) or abs(sum(wanted.values()) - 1) > 1e-6:
        given = ", ".join(f"{name}={share:g}" for name, share in wanted.items())
        raise InvalidInput(f"shares must be two or more positive numbers that add up to 1, got {given or 'none'}")
    return wanted


def propose(
    truth: Frames,
    *,
    shares: Mapping[str, float] | None = None,
    margin: float = MARGIN,
    cell: float = CELL,
    tags: Tags | None = None,
) -> Proposal:
    """Propose splits whose frames lie at least a margin apart, and that are alike in city, weather and geometry.

    The plane is divided into squares, and each square with all its frames goes to the split that it balances best.
    Frames that are closer than the margin to frames of a later split are left out. Geometry is the length of the truth
    of each class, and how much longer lines are than the straight way between their ends.

    Args:
        truth: Truth with poses, or its file.
        shares: The share of frames of each split. If None, 70 % train, 15 % val and 15 % test.
        margin: Smallest distance between frames of different splits, in metres.
        cell: Side of the squares in metres. Smaller squares balance better, and leave out more frames.
        tags: Tags, from ``read_tags``. Splits are balanced by each of their columns of text or flags, and poses of
            different cities are not compared.

    >>> from mapgauge.demo import demo_world
    >>> _, truth = demo_world(200)
    >>> proposal = propose(truth, cell=50)
    >>> list(proposal.splits), min(proposal.nearest.values()) >= 5
    (['train', 'val', 'test'], True)
    """
    if shares is None:
        shares = SHARES
    wanted = check_shares(shares)
    cell = check_length("cell", cell)
    if not 0 <= margin < cell:
        raise InvalidInput(f"splits must be from 0 m to less than a square, {cell:g} m, apart, got {margin:g} m")
    frames = loaded(truth)
    if frames.poses is None:
        raise InvalidInput(
            f"{frames.name or 'the truth'} has no poses, which splits in space need",
            remedy=Remedy("Read them with poses=FILE", "Give them with the truth: TRUTH,poses=FILE"),
        )
    position = frames.poses[:, :2, 3]
    tags_of_cities = None
    if tags is not None and "city" in tags.kinds:
        tags_of_cities = tags
    cities = np.array(cities_of(frames, tags_of_cities), object)
    strata = {name: mask for name, mask in _strata(frames, tags).items() if mask.any()}
    places: dict[tuple[str, int, int], list[int]] = {}
    for frame, (column, row) in enumerate(np.floor(position / cell).astype(np.int64).tolist()):
        places.setdefault((cities[frame], column, row), []).append(frame)
    names = list(wanted)
    split = _assigned(places, strata, np.array([wanted[name] for name in names]))

    def distances(mine: Flags, others: Flags) -> Floats:
        return nearest_place(position[others], position[mine], cities[others], cities=cities[mine])

    kept = np.ones(len(frames), np.bool_)
    for k in reversed(range(len(names) - 1)):  # a frame stays if it is apart from all frames of later splits that stay
        mine = split == k
        kept[np.flatnonzero(mine)[distances(mine, (split > k) & kept) < margin]] = False
    tokens = np.array(frames.tokens, object)
    chosen = {name: kept & (split == k) for k, name in enumerate(names)}
    empty = [name for name, mask in chosen.items() if not mask.any()]
    if empty:
        raise InvalidInput(
            f"no frames are left for {', '.join(empty)}: {len(frames):,} frames lie in {len(places):,} squares of "
            f"{cell:g} m, and splits are {margin:g} m apart",
            remedy=Remedy("Use a smaller cell or margin, or fewer shares", "Use a smaller --cell or --apart"),
        )
    nearest = {
        (a, b): float(np.nanmin(distances(chosen[a], chosen[b]), initial=np.inf)) for a, b in combinations(names, 2)
    }
    balance = {
        name: {side: float((mask & chosen[side]).sum() / max(int((mask & kept).sum()), 1)) for side in names}
        for name, mask in strata.items()
    }
    off = {(name, side): abs(of[side] - wanted[side]) for name, of in balance.items() for side in names}
    far_off = sorted((key for key in off if off[key] > _FAR_OFF), key=lambda key: -off[key])
    notes = [
        f"{len(far_off)} of {len(off)} shares are more than {_FAR_OFF:.0%} from the wanted ones: {side} has "
        f"{balance[name][side]:.1%} of {name}, and should have {wanted[side]:.1%}. Smaller squares balance better"
        for name, side in far_off[:1]
    ]
    scenes = scenes_of(frames)
    splits_of_scenes: dict[str, set[int]] = {}
    if scenes is not None:
        for frame in np.flatnonzero(kept).tolist():
            splits_of_scenes.setdefault(scenes[frame], set()).add(int(split[frame]))
    return Proposal(
        splits={name: tuple(tokens[mask]) for name, mask in chosen.items()},
        dropped=tuple(tokens[~kept]),
        margin=margin,
        nearest=nearest,
        balance=balance,
        cut_scenes=sum(len(several) > 1 for several in splits_of_scenes.values()),
        notes=tuple(notes),
    )


def _strata(frames: MapFrames, tags: Tags | None) -> dict[str, Any]:
    """Return groups of frames that splits should share evenly, as masks: all, by tags, and by geometry."""
    masks = {"all frames": np.ones(len(frames), np.bool_)}
    if tags is not None:
        masks |= _strata_of_tags(frames, tags)
    return masks | _strata_of_geometry(frames)


def _strata_of_tags(frames: MapFrames, tags: Tags) -> dict[str, Any]:
    """Return the frames with each value of each tag. Tags that are numbers are left out."""
    masks = {}
    for name, column in tag_columns(tags, frames.tokens, scenes_of(frames)).items():
        if column.kind == "number":
            continue
        values = {value for value in column.values if value is not None}
        for value in sorted(values, key=str):
            masks[_name_of(name, value)] = np.array([other == value for other in column.values])
    return masks


def _name_of(tag: str, value: object) -> str:
    """Return the name of the frames with a value of a tag."""
    if value is True:
        return tag
    if value is False:
        return f"not {tag}"
    return f"{tag} {value}"


def _strata_of_geometry(frames: MapFrames) -> dict[str, Any]:
    """Return thirds of the frames by the length of each class, the length of all lines, and how much lines curve."""
    coords = frames.polylines.coords
    offsets = frames.polylines.offsets
    length = kernels.resample.lengths_of(coords, offsets)
    ends = np.maximum(offsets[1:] - 1, offsets[:-1])
    across = np.linalg.norm(coords[ends] - coords[offsets[:-1]], axis=1)
    measures = {name: np.where(frames.label == k, length, 0.0) for k, name in enumerate(frames.classes)}
    measures |= {"truth": length, "curvature": np.where(across > CLOSED_TOLERANCE, length - across, 0.0)}
    masks = {}
    for name, of_lines in measures.items():
        of_frames = np.bincount(frames.frame, of_lines, minlength=len(frames))
        third = np.searchsorted(np.quantile(of_frames, (1 / 3, 2 / 3)), of_frames)
        for k, much in enumerate(("little", "some", "much")):
            masks[f"{much} {name}"] = third == k
    return masks


def _assigned(places: Mapping[Any, Sequence[int]], strata: Mapping[str, Any], shares: Floats) -> Indices:
    """Give each square to a split, so that all strata come near to their shares.

    The largest squares are given first, each where it fits best. Then squares move as long as that helps.
    """
    members = np.stack(list(strata.values()), axis=1).astype(np.float64)
    counts = np.maximum(members.sum(axis=0), 1.0)
    order = sorted(places, key=lambda place: (-len(places[place]), place))
    share = np.array([members[places[place]].sum(axis=0) / counts for place in order])  # of each square in all strata
    given = np.zeros((len(shares), share.shape[1]))
    chosen = np.full(len(order), -1)

    def distance(split: int, added: Floats) -> float:
        """Return how far a split would be from its share in all strata, relative to the share."""
        return float(np.square((given[split] + added) / shares[split] - 1).sum() * shares[split])

    def best(square: Floats) -> int:
        return int(np.argmin([distance(split, square) - distance(split, 0 * square) for split in range(len(shares))]))

    for _ in range(_ROUNDS):
        before = chosen.copy()
        for k, square in enumerate(share):
            if chosen[k] >= 0:
                given[chosen[k]] -= square
            chosen[k] = best(square)
            given[chosen[k]] += square
        if (chosen == before).all():
            break
    split = np.zeros(len(members), np.int64)
    for place, side in zip(order, chosen.tolist(), strict=True):
        split[places[place]] = side
    return split
