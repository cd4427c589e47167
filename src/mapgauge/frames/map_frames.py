"""MapFrames: the instances of many frames as columns.

There is one row per instance: its frame, its class, its confidence and its points. Predictions and truth have the same
form; truth has no confidence. All readers return ``MapFrames``, and the rest of the package takes them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.arguments import check_class_names, check_confidence, check_forward
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.columns import column_of
from mapgauge.frames.findings import Finding, check_known
from mapgauge.frames.history import History, recorded
from mapgauge.frames.instances import Instance, check_boxes, is_box, resampled
from mapgauge.frames.links import Links, check_links, cut_links, kept_links, links_between, links_of_frames
from mapgauge.geometry.corridors import cut_to_corridors
from mapgauge.geometry.cropping import Region, check_region, crop_polylines
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.geometry.poses import check_poses, level, move_polylines, quarter_turns, rotation_about_z, turned_forward
from mapgauge.geometry.projections import (
    AUTO,
    EXCHANGED,
    GEOGRAPHIC,
    exchanged,
    looks_geographic,
    project_points,
    projection_at,
)
from mapgauge.markup import Stroke, block, colours_of, drawing, legend, line, shortened, stroke_width, table
from mapgauge.typing import Confidences, Flags, Forward, Indices, Points, Sampling
from mapgauge.words import counted, did_you_mean

Names: TypeAlias = NDArray[np.str_]

OF_INSTANCES = ("frame", "label", "confidence")  # that all frames or all predictions have; ``columns`` has the others
FIELDS = ("track", "intersection", "ignore", "change", "nodes")  # the rows of ``COLUMNS`` that are fields
OF_FRAMES = ("tokens", "scenes", "timestamps", "poses")  # columns with a row per frame


@dataclass(frozen=True, eq=False, kw_only=True)
class MapFrames:
    """Instances of many frames, as columns.

    Frames have an order and may be empty. Instances are sorted by frame. ``len`` is the number of frames. Iteration
    yields the tokens. Indexing by token returns the instances of one frame.

    >>> frames = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {}}, confidence={"a": {"divider": [0.8]}})
    >>> len(frames), frames.counts
    (2, {'divider': 1})
    >>> frames["a"][0].confidence
    0.8
    >>> [len(frames[token]) for token in frames], "c" in frames
    ([1, 0], False)
    """

    tokens: tuple[str, ...]  # one per frame
    classes: tuple[str, ...]  # label i is the class classes[i]
    frame: Indices  # (instances,): index into tokens, in ascending order
    label: Indices  # (instances,): index into classes
    polylines: Polylines  # (instances,)
    confidence: Confidences | None = None  # (instances,), as in the file; None in truth
    track: Names | None = None  # (instances,): the same name for the same object in several frames; "" for none
    scenes: tuple[str, ...] | None = None  # one per frame
    timestamps: Indices | None = None  # (frames,), in the unit of the data set
    poses: NDArray[np.float64] | None = None  # (frames, 4, 4): from frame to world coordinates
    name: str = ""  # name in messages: the file that was read
    format: str = ""  # format of that file
    findings: tuple[Finding, ...] = ()  # findings of the reader
    links: Links | None = None  # between instances of the same frame; None if the file has none
    intersection: Flags | None = None  # (instances,): whether a lane lies in an intersection; None if unknown
    boxes: tuple[str, ...] = ()  # names of the classes whose instances are boxes in an image, see ``frames.boxes``
    forward: Forward | None = None  # axis that points forward: x (y to the left) or y (x to the right); None if unknown
    crs: str = ""  # reference system of the coordinates, or the projection that made them; empty if unknown
    history: History = None  # how to read them again; None if that is not possible
    nodes: NDArray[np.object_] | None = None  # (instances,): the numbers of a lane's nodes in the graph of its file
    ignore: Flags | None = None  # (instances,): true lines that count neither as found nor as missed; None for none
    change: Names | None = None  # (instances,): what changed since a prior map, as the file says; "" for nothing
    more: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # (instances,): columns of plug-ins, by name
    aside: "MapFrames | None" = None  # what an evaluation took out because of ``ignore``; only drawings show it

    def __post_init__(self) -> None:
        """Refuse columns whose sizes or values do not agree."""
        count = len(self.polylines)
        frames = len(self.tokens)
        of_instances = {name: getattr(self, name) for name in OF_INSTANCES} | self.columns
        of_frames = {name: getattr(self, name) for name in OF_FRAMES}
        for columns, rows, of in ((of_instances, count, "instance"), (of_frames, frames, "frame")):
            for name, values in columns.items():
                if values is not None and len(values) != rows:
                    raise InvalidInput(f"{name} has {len(values)} rows, expected {rows}, one per {of}")
        if self.dimension not in (2, 3):
            raise InvalidInput(f"points have {self.dimension} coordinates, expected 2 or 3")
        if len(set(self.classes)) < len(self.classes):
            raise InvalidInput(f"classes must have different names, got {', '.join(self.classes)}")
        if count and (self.frame[0] < 0 or self.frame[-1] >= frames or np.any(np.diff(self.frame) < 0)):
            raise InvalidInput(f"frame must be in ascending order, from 0 to at most {frames - 1}")
        if count and not (self.label.min() >= 0 and self.label.max() < len(self.classes)):
            raise InvalidInput(f"label must be from 0 to {len(self.classes) - 1}, an index into classes")
        for name, values in self.columns.items():
            column_of(name).check(values)
        twice = [name for name in FIELDS if name in self.more]
        if twice:
            raise InvalidInput(f"more has {twice[0]}, expected only columns that are no fields of MapFrames")
        check_links(self.links, self.frame)
        check_forward(self.forward)
        check_boxes(self)

    @classmethod
    def of(
        cls,
        frames: Mapping[str, Mapping[str, Any]],
        *,
        confidence: Mapping[str, Mapping[str, ArrayLike]] | None = None,
        classes: Sequence[str] | None = None,
        columns: Mapping[str, Mapping[str, Mapping[str, ArrayLike]]] | None = None,
    ) -> "MapFrames":
        """Pack polylines given by token and class name.

        Args:
            frames: ``{token: {class name: polylines}}``; polylines as for ``Polylines.of``.
            confidence: The same structure with one number per polyline. None means truth.
            classes: The names and order of the classes; in order of appearance if None.
            columns: Further columns by name, such as ``track``, each with the same structure. Polylines of a class or
                a token that a column does not name have none of its values.

        >>> frames = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}}, columns={"track": {"a": {"divider": ["7"]}}})
        >>> frames["a"][0].track
        '7'
        """
        given = dict.fromkeys(name for groups in frames.values() for name in groups)
        if classes is None:
            names = tuple(given)
        else:
            names = check_class_names(classes)
        parts: list[Polylines] = []
        owner: list[tuple[int, int]] = []  # the frame and the class of each instance
        values: list[Confidences] = []
        more: dict[str, list[NDArray[Any]]] = {name: [] for name in columns or ()}
        dimension: int | None = None
        for index, (token, groups) in enumerate(frames.items()):
            for name, group in groups.items():
                if name not in names:
                    raise InvalidInput(f"frame {token}: unknown class {name!r}; available: {', '.join(names)}")
                lines = Polylines.of(group, f"{token}, {name}", dimension)
                if len(lines.coords):
                    dimension = lines.dimension
                parts.append(lines)
                owner += [(index, names.index(name))] * len(lines)
                if confidence is not None:
                    scores = confidence.get(token, {}).get(name, ())
                    values.append(check_confidence(f"confidence of {token}, {name}", scores, len(lines), of="polyline"))
                for column, given_values in (columns or {}).items():
                    part = given_values.get(token, {}).get(name)
                    more[column].append(_values_of(column, part, len(lines), where=f"{token}, {name}"))
        frame, label = np.array(owner, np.int64).reshape(-1, 2).T.copy()
        if confidence is None:
            certainty = None
        else:
            certainty = np.concatenate([np.empty(0), *values])
        together = {name: np.concatenate([column_of(name).empties(0), *arrays]) for name, arrays in more.items()}
        lines = Polylines.joined([Polylines.of([]), *parts])
        return cls(
            tokens=tuple(frames),
            classes=names,
            frame=frame,
            label=label,
            polylines=lines,
            confidence=certainty,
            **members_of(together),
        )

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.tokens)

    def __repr__(self) -> str:
        """Summary in one line."""
        kind = "predictions"
        if self.confidence is None:
            kind = "truth"
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        frames = counted(len(self), "frame")
        return f"<MapFrames {self.name or kind}: {frames}, {self.dimension}-D, {counts or 'no classes'}>"

    def _repr_html_(self) -> str:
        """Return a table of the classes, and a drawing of the first frame that has instances."""
        rows = [[name, f"{count:,}", f"{count / max(len(self), 1):.1f}"] for name, count in self.counts.items()]
        if self.scenes is None:
            scenes = ""
        else:
            scenes = f" of {counted(len(set(self.scenes)), 'scene', form=',')}"
        kind = "predictions"
        if self.confidence is None:
            kind = "truth"
        name = shortened(self.name or kind)
        pieces: list[str] = [
            line(f"MapFrames {name}: {kind}, {counted(len(self), 'frame', form=',')}{scenes}, {self.dimension}-D"),
            table(["class", "instances", "per frame"], rows),
        ]
        if len(self.polylines):
            token = self.tokens[self.frame[0]]
            instances = [(stroke_width(each.confidence), each) for each in self[token]]
            colours = colours_of(self.classes)
            strokes = [
                Stroke(each.points, colours[each.class_name], width)
                for width, each in sorted(instances, key=lambda pair: pair[0])  # the surest on top
            ]
            in_frame = {each.class_name for _, each in instances}
            pieces += [
                line(f"Frame {token}, x to the right, y upwards"),
                drawing(strokes, "the polylines of one frame"),
                legend({name: colour for name, colour in colours.items() if name in in_frame}),
            ]
        return block(*pieces)

    def __iter__(self) -> Iterator[str]:
        """Yield the tokens."""
        return iter(self.tokens)

    def __contains__(self, token: object) -> bool:
        """Whether there is a frame with this token."""
        return isinstance(token, str) and token in self.index

    def __getitem__(self, token: str) -> list[Instance]:
        """Return the instances of one frame."""
        if token not in self.index:
            raise KeyError(f"no frame {token!r}")
        start, stop = self.offsets[self.index[token] : self.index[token] + 2].tolist()
        return [self._instance(i) for i in range(start, stop)]

    def _instance(self, i: int) -> Instance:
        """Return an instance by its place."""
        confidence = None
        if self.confidence is not None:
            confidence = float(self.confidence[i])
        track = None
        if self.track is not None:
            track = str(self.track[i]) or None
        ignore = False
        if self.ignore is not None:
            ignore = bool(self.ignore[i])
        return Instance(self.classes[self.label[i]], self.polylines[i], confidence, track=track, ignore=ignore)

    @cached_property
    def index(self) -> dict[str, int]:
        """Index of the frame of each token; the first one if a token occurs twice."""
        return {token: i for i, token in reversed(list(enumerate(self.tokens)))}

    @cached_property
    def offsets(self) -> Indices:
        """Frame ``i`` has the instances ``offsets[i]:offsets[i + 1]``."""
        return np.searchsorted(self.frame, np.arange(len(self) + 1))

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point: 2 or 3."""
        return self.polylines.dimension

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns of instances that files and plug-ins may add, by name, if these frames have them."""
        fields = {name: getattr(self, name) for name in FIELDS}
        return {name: values for name, values in fields.items() if values is not None} | dict(self.more)

    @property
    def counts(self) -> dict[str, int]:
        """Number of instances of each class."""
        counted = np.bincount(self.label, minlength=len(self.classes))
        return dict(zip(self.classes, counted.tolist(), strict=True))

    def keep(self, instances: NDArray[Any]) -> "MapFrames":
        """Keep some of the instances, given as a mask or as ascending indices. All frames stay."""
        if instances.dtype == np.bool_:
            rows = np.flatnonzero(instances)
        else:
            rows = instances
        return self._take(rows, self.polylines.pick(rows), links=kept_links(self.links, rows, len(self.polylines)))

    def at(self, frames: Sequence[int]) -> "MapFrames":
        """Pick some of the frames, in the order given."""
        order = np.asarray(frames, np.int64)
        if np.array_equal(order, np.arange(len(self))):
            return self
        counts = np.diff(self.offsets)[order]
        rows = ranges(self.offsets[order], counts)
        return self._take(
            rows,
            self.polylines.pick(rows),
            frame=np.repeat(np.arange(len(order)), counts),
            links=links_of_frames(self.links, self.offsets, order),
            **{name: pick_rows(getattr(self, name), order) for name in OF_FRAMES},
        )

    def between(self, frames: slice) -> "MapFrames":
        """Pick a range of frames without copying their points."""
        start, stop, _ = frames.indices(len(self))
        first = self.offsets[start]
        last = self.offsets[stop]
        offsets = self.polylines.offsets[first : last + 1]
        columns = {field.name: getattr(self, field.name) for field in fields(self)} | {"history": None}
        columns |= {name: pick_rows(getattr(self, name), slice(start, stop)) for name in OF_FRAMES}
        columns |= {name: pick_rows(getattr(self, name), slice(first, last)) for name in OF_INSTANCES}
        columns |= members_of({name: values[first:last] for name, values in self.columns.items()})
        columns["frame"] = columns["frame"] - start
        columns["links"] = links_between(self.links, int(first), int(last))
        columns["polylines"] = Polylines.unchecked(
            self.polylines.coords[offsets[0] : offsets[-1]], offsets - offsets[0]
        )
        made = object.__new__(MapFrames)  # without checks: the columns are sound
        made.__dict__.update(columns)
        return made

    def _take(self, rows: Indices | slice, polylines: Polylines, **columns: Any) -> "MapFrames":
        """Return the instance columns at ``rows`` with the polylines given; ``columns`` override others."""
        picked = {name: pick_rows(getattr(self, name), rows) for name in OF_INSTANCES}
        picked |= members_of({name: values[rows] for name, values in self.columns.items()})
        return replace(self, polylines=polylines, history=None, **(picked | columns))

    @recorded
    def of_tokens(self, tokens: Iterable[str]) -> "MapFrames":
        """Pick the frames with some tokens, in the order of the frames. All tokens must be those of frames.

        >>> MapFrames.of({"a": {}, "b": {}, "c": {}}).of_tokens(["c", "a"]).tokens
        ('a', 'c')
        """
        if isinstance(tokens, str):
            chosen = {tokens}
        else:
            chosen = set(tokens)
        lacking = sorted(chosen.difference(self.index))
        if lacking or not chosen:
            what = "no tokens"
            if chosen:
                what = f"no frames have {len(lacking)} of {len(chosen)} tokens (first: {lacking[0]})"
            raise InvalidInput(f"{self.name or 'frames'}: {what}", remedy="Check that they belong to this data set")
        return self.at([frame for frame, token in enumerate(self.tokens) if token in chosen])

    @recorded
    def select(self, classes: Sequence[str]) -> "MapFrames":
        """Select classes, in the order given.

        >>> MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]], "boundary": []}}).select(["boundary"]).counts
        {'boundary': 0}
        """
        wanted = check_class_names(classes)
        check_known(self, wanted)
        return self.as_classes(wanted)

    @recorded
    def as_classes(self, classes: Sequence[str]) -> "MapFrames":
        """Set the classes and their order. New classes have no instances; instances of other classes are left out."""
        wanted = check_class_names(classes)
        if wanted == self.classes:
            return self
        code = np.array([wanted.index(name) if name in wanted else -1 for name in self.classes] or [-1], np.int64)
        if (code < 0).any():
            kept = self.keep(code[self.label] >= 0)
        else:
            kept = self
        return replace(kept, classes=wanted, label=code[kept.label])

    @recorded
    def rename(self, names: Mapping[str, str]) -> "MapFrames":
        """Rename classes. Classes that get the same name become one.

        >>> frames = MapFrames.of({"a": {"road_divider": [[[0, 0], [9, 0]]], "lane_divider": [[[0, 1], [9, 1]]]}})
        >>> frames.rename({"road_divider": "divider", "lane_divider": "divider"}).counts
        {'divider': 2}
        """
        check_known(self, names)
        if all(names.get(name, name) == name for name in self.classes):
            return self  # so that nothing is recorded
        new = [names.get(name, name) for name in self.classes]
        classes = tuple(dict.fromkeys(new))
        code = np.array([classes.index(name) for name in new], np.int64)
        boxes = tuple(dict.fromkeys(names.get(name, name) for name in self.boxes))
        return replace(self, classes=classes, label=code[self.label], boxes=boxes)

    @recorded
    def filter(self, confidence: float | Mapping[str, float]) -> "MapFrames":
        """Keep instances with at least this confidence. The package never filters unasked: it changes results.

        Args:
            confidence: A confidence, or one for each of some classes. Instances of other classes are kept.
        """
        if self.confidence is None:
            raise InvalidInput(f"{self.name or 'frames'}: truth has no confidence to filter by")
        if isinstance(confidence, Mapping):
            by_class = confidence
        else:
            by_class = dict.fromkeys(self.classes, confidence)
        if unknown := [name for name in by_class if name not in self.classes]:
            hint = did_you_mean(unknown[0], self.classes)
            raise InvalidInput(f"filter: no class {unknown[0]!r}. Available: {', '.join(self.classes)}{hint}")
        given = check_confidence("confidence", list(by_class.values()) or [0.0], max(len(by_class), 1), of="filter")
        least = np.zeros(len(self.classes))
        least[[self.classes.index(name) for name in by_class]] = given[: len(by_class)]
        return self.keep(self.confidence >= least[self.label])

    @recorded
    def crop(self, region: Region) -> "MapFrames":
        """Crop all polylines to a region; they are cut at its edge.

        A polyline that leaves the region and comes back becomes several instances with the same class, confidence and
        track. A link stays if the end of its source and the start of its target are inside (see ``cut_links``).

        Args:
            region: ``(length, width)`` around the ego, or ``(x_min, y_min, x_max, y_max)``, in metres. The length lies
                along the axis that points forward (``forward``), or along x if it is unknown. The edge belongs to the
                region.

        >>> frames = MapFrames.of({"a": {"divider": [[[-50, 0], [50, 0]]]}})
        >>> frames.crop((60, 30))["a"][0].points
        array([[-30.,   0.],
               [ 30.,   0.]])
        """
        whole = None
        if self.boxes:
            whole = is_box(self)
        polylines, sources = crop_polylines(self.polylines, check_region(region, self.forward), whole)
        return self._take(sources, polylines, links=cut_links(self.links, self.polylines, polylines, sources=sources))

    def cut_to_corridors(self, paths: Sequence[Points], radius: float) -> "MapFrames":
        """Cut all polylines at a distance from the path of their frame, as ``crop`` does at the edge of a region."""
        polylines, sources = cut_to_corridors(self.polylines, self.frame, paths, radius=radius)
        return self._take(sources, polylines, links=cut_links(self.links, self.polylines, polylines, sources=sources))

    @recorded
    def resample(
        self, *, spacing: float | None = None, count: int | None = None, sampling: Sampling = "paper"
    ) -> "MapFrames":
        """Resample all polylines, as ``mapgauge.resample`` does for one."""
        return replace(self, polylines=resampled(self, spacing, count, sampling=sampling))

    @recorded
    def rotate(self, degrees: float) -> "MapFrames":
        """Rotate all points about the origin, counter-clockwise seen from above. Quarter turns are exact.

        MapTR's nuScenes files have x to the right and y forward. ``rotate(-90)`` turns this into x forward and y to
        the left, as in StreamMapNet's files.

        >>> frames = MapFrames.of({"a": {"divider": [[[1, 20], [1, 30]]]}})
        >>> frames.rotate(-90)["a"][0].points
        array([[20., -1.],
               [30., -1.]])
        """
        return self.transform(rotation_about_z(degrees))

    def transform(self, poses: ArrayLike) -> "MapFrames":
        """Move all points by a rigid motion, one for all frames or one for each.

        Points with two coordinates are taken at height 0, and the height of the result is left out.

        Args:
            poses: ``(4, 4)`` or ``(frames, 4, 4)`` matrices of rotation and translation. ``frames.poses``, if the
                file has poses, moves points from frame to world coordinates.
        """
        motion = check_poses(poses, len(self))
        moved = move_polylines(self.polylines, motion, self.frame)
        if self.boxes:  # they stay in their image
            stays = np.repeat(is_box(self), np.diff(moved.offsets))[:, None]
            moved = Polylines(np.where(stays, self.polylines.coords, moved.coords), moved.offsets)
        if self.poses is None:
            poses_after = None
        else:
            poses_after = self.poses @ np.linalg.inv(motion)
        forward = turned_forward(self.forward, quarter_turns(motion))
        return replace(self, polylines=moved, poses=poses_after, forward=forward, crs="", history=None)

    def to_world(self) -> "MapFrames":
        """Move all points from the coordinates of their frames to those of the world, by ``poses``.

        Points with two coordinates are moved by the position and the yaw of a pose: maps of roads are flat, and roll
        and pitch would shorten them. No axis of the result points forward, and its poses do not move anything.

        >>> frames = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
        >>> pose = [[0, -1, 0, 600], [1, 0, 0, 1600], [0, 0, 1, 0], [0, 0, 0, 1]]
        >>> replace(frames, poses=np.array([pose])).to_world()["a"][0].points
        array([[ 600., 1600.],
               [ 600., 1609.]])
        """
        if self.poses is None:
            raise InvalidInput(
                f"{self.name or 'frames'}: no poses, which move points to the world",
                remedy=Remedy(
                    "Give poses with mg.with_poses(frames, file)", "Give poses with the file: FILE,poses=FILE"
                ),
            )
        poses = check_poses(self.poses, len(self), lambda k: f"the pose of frame {self.tokens[k]}")
        if self.dimension == 3:
            flat = poses
        else:
            flat = np.array([level(pose) for pose in poses]).reshape(-1, 4, 4)
        still = np.tile(np.eye(4), (len(self), 1, 1))
        return replace(self.transform(flat), poses=still, forward=None)

    def project(self, projection: str) -> "MapFrames":
        """Project longitude and latitude, or coordinates of the reference system ``crs``, to metres. It needs pyproj.

        Args:
            projection: ``"auto"`` for a transverse Mercator projection whose origin is the first point, a reference
                system such as ``"EPSG:32632"``, or ``"utm:LAT:LON"``, ``"local:LAT:LON"``, ``"tmerc:LAT:LON"`` or
                ``"mercator:LAT:LON"`` with an origin. Project both sides the same way: ``truth.crs`` names it.
        """
        if not isinstance(projection, str):
            raise InvalidInput(f"project={projection}: expected a text, such as {AUTO!r} or 'EPSG:32632'")
        source = self.crs or GEOGRAPHIC
        coords = self.polylines.coords
        if projection == self.crs or not len(coords):
            return self
        if not self.crs and not looks_geographic(coords):
            is_exchanged = looks_geographic(coords[:, [1, 0]])
            raise InvalidInput(
                f"{self.name or 'frames'}: the coordinates are not longitude and latitude, and no reference system is "
                "declared, so they cannot be projected",
                remedy=EXCHANGED if is_exchanged else None,
            )
        findings = self.findings
        if source == GEOGRAPHIC and (text := exchanged(coords, projection)):
            if projection != AUTO:
                raise InvalidInput(f"{self.name or 'frames'}: {text}", remedy=EXCHANGED)
            found = Finding(
                "warning",
                "coordinates-exchanged",
                f"{self.name or 'frames'}: {text}",
                count=len(self),
                remedy=EXCHANGED,
            )
            findings = (*findings, found)
        if projection == AUTO:
            chosen = projection_at(coords, source)
        else:
            chosen = projection
        moved = Polylines(project_points(coords, chosen, source), self.polylines.offsets)
        return replace(self, polylines=moved, crs=chosen, poses=None, findings=findings, history=None)

    @recorded
    def planar(self) -> "MapFrames":
        """Remove the height: points have two coordinates."""
        coords = np.ascontiguousarray(self.polylines.coords[:, :2])
        return replace(self, polylines=Polylines(coords, self.polylines.offsets))

    @recorded
    def with_confidence(self, confidence: ArrayLike | None) -> "MapFrames":
        """Set the confidences: one number for all, one per instance, or None for truth."""
        if confidence is not None:
            count = len(self.polylines)
            if np.ndim(confidence) == 0:
                confidence = np.full(count, confidence)
            confidence = check_confidence("confidence", confidence, count, of="instance")
        return replace(self, confidence=confidence)

    def with_columns(self, **columns: ArrayLike | None) -> "MapFrames":
        """Set columns by name: one value per instance, or None to remove the column.

        >>> frames = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
        >>> frames.with_columns(track=[7])["a"][0].track
        '7'
        """
        changed = self.columns
        for name, values in columns.items():
            row = column_of(name)
            if values is None:
                changed.pop(name, None)
            else:
                changed[name] = row.of(values)
        return replace(self, **members_of(changed), history=None)

    def with_ignore(self, ignore: ArrayLike | None) -> "MapFrames":
        """Set which true lines are ignored: one flag per instance, or None for no flags.

        An ignored line is neither found nor missed, and a prediction that is matched with it is neither right nor
        false.

        >>> truth = MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]], [[0, 5], [9, 5]]]}})
        >>> [line.ignore for line in truth.with_ignore([False, True])["a"]]
        [False, True]
        """
        if ignore is None and self.ignore is None:
            return self
        return self.with_columns(ignore=ignore)

    @recorded
    def with_forward(self, forward: Forward | None) -> "MapFrames":
        """Set the axis that points forward, without moving the points.

        Args:
            forward: ``"x"`` (y to the left), ``"y"`` (x to the right), or None if it is unknown.
        """
        return replace(self, forward=forward)


def members_of(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return columns, which are rows of ``COLUMNS``, as arguments of ``MapFrames``. All others are removed."""
    fields = {name: columns.get(name) for name in FIELDS}
    return fields | {"more": {name: values for name, values in columns.items() if name not in FIELDS}}


def _values_of(name: str, values: ArrayLike | None, count: int, where: str) -> NDArray[Any]:
    """Return the values of a column for some polylines; empty values for None."""
    row = column_of(name)
    if values is None:
        return row.empties(count)
    array = row.of(values)
    if array.shape != (count,):
        raise InvalidInput(f"{name} of {where} has shape {array.shape}, expected ({count},): one value per polyline")
    return array


def pick_rows(column: Any, rows: Indices | slice) -> Any:
    """Return some rows of a column: an array, a tuple, or None."""
    if isinstance(column, tuple) and not isinstance(rows, slice):
        return tuple(column[i] for i in rows.tolist())
    if column is None:
        return None
    return column[rows]
