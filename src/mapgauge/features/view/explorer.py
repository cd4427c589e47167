"""What the server answers: the page, the values of all frames at once, and the geometry of single frames."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.features.view.geometry import GeometryReading, Placing, drawing_arrays
from mapgauge.features.view.panel import PanelMaking
from mapgauge.features.view.server import Posted, Routes, as_json, in_thread, packed
from mapgauge.features.view.server import Reply as Answer
from mapgauge.features.view.sheet import sheet_of
from mapgauge.features.view.video import has_ffmpeg, video_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.hooks import Nearest, similar
from mapgauge.markup import Html, element, joined
from mapgauge.metrics.pld import with_pld
from mapgauge.metrics.table import hit_metrics
from mapgauge.results.comparison import compare
from mapgauge.results.frame_query import FrameTable
from mapgauge.results.frame_tables import frame_precisions
from mapgauge.results.query import InvalidQuery
from mapgauge.results.results import Results
from mapgauge.results.tags import Tags
from mapgauge.scoring.data import Data
from mapgauge.views.report.causes import cause_numbers
from mapgauge.views.report.drawings import is_map, least_drawn, truth_bounds
from mapgauge.views.report.explorer import (
    STYLES,
    described,
    explorer_elements,
    filled,
    in_order_of,
    joined_script,
    meta_text,
    resource,
    scene_arrays,
    script_hash,
    section_resource,
    value_arrays,
)
from mapgauge.views.report.first import (
    first_elements,
    first_meta,
    intervals,
    panel_of_sections,
    values_and_families,
)
from mapgauge.views.report.pack import Section
from mapgauge.views.report.sections import sections

if TYPE_CHECKING:
    from mapgauge.features.view.cameras import Cameras
    from mapgauge.views.report.pack import Arrays

_PACKAGE = "mapgauge.features.view"
_SCRIPTS = ("filter", "time", "place", "cameras", "pictures")
_NEAREST = 50  # frames that are like another one
_WAIT = 1.0  # seconds until a question about the geometry is answered anyway, with what is done


class Method(NamedTuple):
    """Results, and how to get them with their predictions and truth."""

    name: str
    given: str  # as on the command line
    results: Results
    with_data: Callable[[], Results]
    # Returns one frame, by its token, before all are read; None if it cannot be read alone. See ``frame_alone``.
    alone: Callable[[str], Results | None] = lambda token: None


class Explorer:
    """The frames of some methods. All have the same frames, in the order of the first."""

    def __init__(
        self,
        methods: Sequence[Method],
        *,
        tags: Tags | None = None,
        title: str | None = None,
        tabs: bool = False,
        images: Path | None = None,
        poses: Path | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Begin to collect the values.

        Args:
            methods: At least one.
            tags: Further columns of conditions.
            title: Title of the page; None for the names of the methods.
            tabs: Whether pages tell when they are closed.
            images: Folder of a data set with camera images. Its poses are used if the data have none.
            poses: What has the poses of the frames, if the data have none: a file, or the folder of a data set.
            tell: It is called with a sentence when the predictions and the truth begin to be read, and when they are.
        """
        first = methods[0].results
        self.methods = methods
        self.results: list[Results] = [first, *(in_order_of(first, method.results) for method in methods[1:])]
        self.title: str = title or ", ".join(method.name for method in methods)
        self.tags = tags
        self.tabs = tabs
        self._cameras = None if images is None else _cameras(images, first)
        self._names = [method.name for method in methods]
        with_poses: list[Placing] = [] if poses is None else [partial(_with_poses, poses)]
        with_poses += [] if self._cameras is None else [self._cameras.with_poses]
        reads = [partial(_with_data, first, method) for method in methods]
        self.reading: GeometryReading = GeometryReading(reads, with_poses, tell)
        self._values = in_thread(self._packed_values)  # while the browser opens the page

    @property
    def routes(self) -> Routes:
        """What there is, by the first part of the path."""
        return {
            "": self.page,
            "values": self.values,
            "geometry": self.geometry,
            "answer": self.said,
            "causes": self.causes,
            "panel": self.panel,
            "unchecked": self.unchecked,
            "frame": self.frame,
            "scene": self.scene,
            "precisions": self.precisions,
            "like": self.like,
            "cameras": self.cameras,
            "image": self.image,
            "where": self.where,
            "video": Posted(video_of),
        }

    def page(self) -> Answer:
        """Return the page. Its security policy allows its own script, and requests to this server."""
        own = [resource(f"{name}.js", _PACKAGE) for name in _SCRIPTS]
        panes_of_view = ["place"]
        if similar() is not None:
            own.append(resource("similar.js", _PACKAGE))
            panes_of_view.append("similar")
        of_sections = [section_resource(section, "js") for section in self._scene_sections]
        script = joined_script([resource("live.js", _PACKAGE)], [*own, *of_sections])
        styles = [
            *(resource(f"{name}.css") for name in STYLES),
            *(section_resource(section, "css") for section in self._scene_sections),
            resource("view.css", _PACKAGE),
        ]
        panes = [
            *(section_resource(section, "html") for section in self._scene_sections),
            *(resource(f"{name}.html", _PACKAGE) for name in panes_of_view),
        ]
        policy = (
            f"default-src 'none'; script-src {script_hash(script)}; style-src 'unsafe-inline'; "
            "connect-src 'self'; img-src 'self' blob: data:; base-uri 'none'; form-action 'none'"
        )
        page = filled(
            resource("view.html", _PACKAGE),
            title=self.title,
            style=joined(styles),
            first=first_elements(answer=None, where=Html(""), worries=Html("")),
            findings=self._errors(),
            explorer=explorer_elements("", panes),
            time=resource("time.html", _PACKAGE),
            meta=meta_text(self.meta),
            script=script,
        )
        return Answer(page.encode("utf-8", "xmlcharrefreplace"), "text/html; charset=utf-8", policy)

    def _errors(self) -> Html:
        """Return the findings that make numbers doubtful, as paragraphs."""
        lines = []
        for method in self.methods:
            for finding in method.results.findings:
                if finding.level != "error":
                    continue
                text = f"{method.name}: do not trust the numbers: {finding.for_shell().removeprefix('error: ')}"
                lines.append(element("p", text, class_="finding error", role="alert"))
        return joined(lines, "\n")

    @cached_property
    def _alone(self) -> list[Results]:
        """The results without predictions and truth, which are read later."""
        return [results.without_data() for results in self.results]

    @cached_property
    def meta(self) -> dict[str, Any]:
        """What the scripts need to know."""
        # Causes are described if there is geometry, which is read later.
        promised = [replace(results, geometry=Data(_unread, results.protocol)) for results in self.results]
        meta = described(self.results, [method.name for method in self.methods], world=False)
        for section in sections():
            if not section.resource:
                meta |= section.added(promised, [0], None).meta
        for section in self._scene_sections:
            meta |= section.scenes_meta(list(dict.fromkeys(meta["scenes"] or ())))
        return (
            meta
            | first_meta(self.results, self._names)
            | {
                "drawn": None,
                "reasons": [],
                "why": [],
                "least": least_drawn(self.results),
                "files": [method.given for method in self.methods],
                "precisions": {
                    metric.main.key: metric.title
                    for metric, _ in hit_metrics(self.results[0].metrics)
                    if metric.level == "frame"
                },
                "tabs": self.tabs,
                "video": has_ffmpeg(),
                "cameras": self._cameras is not None,
            }
        )

    def values(self) -> Answer:
        """Return the values of all frames."""
        return self._values.result()

    def _packed_values(self) -> Answer:
        """Return the values of all frames."""
        arrays: Arrays = scene_arrays(self.results)
        for k, results in enumerate(self.results):
            arrays |= {name: _narrow(column) for name, column in value_arrays(k, results).items()}
        return packed(arrays)

    def unchecked(self, number: str) -> Answer:
        """Return what the drawings of a frame show if it can be read alone, and then begin to read all frames.

        Reading all takes seconds, and only then it is known whether the files have what was evaluated. The page asks
        for the frame again after that.
        """
        try:
            alone = self._alone_with_data(self._number(number))
            if not alone:
                return packed({}, found=False)
            arrays = drawing_arrays(alone, world=False)
            return packed(arrays, found=True, bounds=truth_bounds(alone[0]))
        finally:
            self.reading.begin()

    def _alone_with_data(self, frame: int) -> list[Results]:
        """Return a frame of all methods with its predictions and truth. Empty if one of them cannot be read alone."""
        found = []
        for method, results in zip(self.methods, self.results, strict=True):
            alone = method.alone(results.tokens[frame])
            if alone is None or is_map(alone):  # the drawings of a map need all frames
                return []
            found.append(alone)
        return found

    def geometry(self) -> Answer:
        """Return whether predictions and truth are read, and what is known from them."""
        try:
            geometry = self.reading.wait(_WAIT)
        except InvalidInput as error:
            return packed({}, state="failed", failure=str(error))
        if geometry is None:
            return packed({}, state="reading", done=self.reading.done, count=self.reading.count)
        known = {"order": geometry.order, "seconds": geometry.seconds, "tracks": geometry.tracks}
        arrays: Arrays = {name: array for name, array in known.items() if array is not None}
        about = {"world": geometry.world, "bounds": geometry.bounds, "note": geometry.note}
        if geometry.tracks is not None:
            sheet = sheet_of(geometry.tracks)
            arrays |= {"areas": sheet.area.astype(np.int32), "shift": sheet.shift}
            about["tiles"] = sheet.tiles
        if self.results[0].scenes is None and geometry.scenes is not None:
            about["scenes"] = geometry.scenes  # the page has those of the results
        return packed(arrays, state="ready", **about)

    def said(self, known: str) -> Answer:
        """Return the answer, and the differences of the first screen.

        ``known`` is ``"values"`` for what the results tell alone, or ``"geometry"`` after predictions and truth were
        read.
        """
        from mapgauge.answers.answer import combined, explain  # they import what evaluates; the page does not wait

        if known == "geometry":
            methods = self.reading.now.methods
        else:
            methods = self._alone
        told = [explain(method, name) for method, name in zip(methods, self._names, strict=True)]
        comparison = compare(methods, names=self._names)
        body = {
            "answer": combined(told, comparison).to_dict(),
            "intervals": intervals(self._names, comparison),
            **values_and_families([method.results for method in told]),  # causes may be known only now
        }
        return as_json(body)

    def causes(self) -> Answer:
        """Return the causes of all frames. The answer after reading has scored them."""
        return packed(cause_numbers(self.reading.now.methods))

    def panel(self) -> Answer:
        """Return the panel *where* of the first screen, or how much of it is done. The first request begins it."""
        return as_json(self._panel.state(_WAIT) | {"frames": len(self.results[0].tokens)})

    @cached_property
    def _panel(self) -> PanelMaking:
        methods = self.reading.now.placed_methods
        return PanelMaking(partial(panel_of_sections, "where", methods, self._names))

    def frame(self, number: str) -> Answer:
        """Return what the drawings of a frame show."""
        return packed(self.reading.now.arrays([self._number(number)]))

    def scene(self, name: str) -> Answer:
        """Return what sections show of a scene."""
        arrays: Arrays = {}
        for section in self._scene_sections:
            arrays |= section.of_scene(self.reading.now.methods, name)
        return packed(arrays)

    def precisions(self, name: str) -> Answer:
        """Return the average precisions of the frames of a scene: for each method, class and frame."""
        scenes = self.results[0].scenes or self.reading.now.scenes
        frames = [frame for frame in range(len(self.results[0].tokens)) if scenes is None or scenes[frame] == name]
        arrays: Arrays = {"frames": np.array(frames, np.int32)}
        for k, results in enumerate(self.results):
            scores = results.scores.at(np.array(frames, np.int64))
            found = frame_precisions(scores, results.metrics, results.protocol, class_names=results.class_names)
            arrays |= {f"{k}.{key}": table.astype(np.float32) for key, table in found.items()}
        return packed(arrays)

    def like(self, number: str) -> Answer:
        """Return the frames whose truth is nearest to that of a frame, the nearest first, and how far they are."""
        tokens, distances = self._nearest(self.results[0].tokens[self._number(number)], _NEAREST)
        frames = np.array([self._places[token] for token in tokens], np.int32)
        return packed({"frames": frames, "distances": distances.astype(np.float32)})

    @cached_property
    def _nearest(self) -> Nearest:
        """Finds the frames whose truth is nearest to that of another. It is prepared once."""
        prepare = similar()
        if prepare is None:
            raise InvalidInput("frames that are alike cannot be found: no feature that compares frames is installed")
        first = self.reading.now.methods[0]
        _, truth = first.need_data().all_sides
        return prepare(truth, with_pld(first.protocol, order=1))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {token: k for k, token in enumerate(self.results[0].tokens)}

    def cameras(self, number: str) -> Answer:
        """Return the cameras of a frame, and the lines that they see."""
        frame = self._number(number)
        return packed({}, cameras=[]) if self._cameras is None else self._cameras.lines(self.reading.now.methods, frame)

    def image(self, number: str, camera: str) -> Answer:
        """Return an image of a frame by the number of its camera."""
        frame = self._number(number)
        if self._cameras is None or not (camera.isascii() and camera.isdecimal()):
            raise InvalidInput("there are no images")
        return self._cameras.image(self.results[0].tokens[frame], int(camera))

    @cached_property
    def _scene_sections(self) -> list[Section]:
        return [section for section in sections() if section.has_scenes(self.results)]

    def _number(self, text: str) -> int:
        """Return the number of a frame from an address."""
        frame = int(text) if text.isascii() and text.isdecimal() else -1
        if not 0 <= frame < len(self.results[0].tokens):
            raise InvalidInput(f"no frame {text!r}")
        return frame

    def where(self, query: str, method: str = "0") -> Answer:
        """Return the frames of a method that a condition holds for, or what is wrong with the condition."""
        if not (method.isascii() and method.isdecimal() and int(method) < len(self.results)):
            raise InvalidInput(f"no method {method!r}")
        try:
            frames = self._tables[int(method)].where(query)
        except InvalidQuery as error:
            remedy = error.remedy.shell if error.remedy else ""
            return as_json({"wrong": error.what, "place": error.place, "remedy": remedy})
        return packed({"frames": np.array(frames, np.int32)})

    @cached_property
    def _tables(self) -> list[FrameTable]:
        return [FrameTable(results, self.tags) for results in self.results]


def _with_data(first: Results, method: Method) -> Results:
    """Return a method with its data, in the order of the first one."""
    return in_order_of(first, method.with_data())


def _with_poses(path: Path, frames: MapFrames) -> MapFrames:
    from mapgauge.truth.poses import with_poses  # its imports take long, and most views need none

    return with_poses(frames, path)


def _cameras(root: Path, results: Results) -> "Cameras":
    from mapgauge.features.view.cameras import Cameras  # its imports take long, and most views need none

    return Cameras(root, results)


def _unread() -> NoReturn:
    raise InvalidInput("the predictions and the truth are not read yet")


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in as few bytes as they need."""
    if column.dtype.kind != "i" or not column.size:
        return column
    low = int(column.min())
    high = int(column.max())
    for kind in (np.uint8, np.int16):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return column.astype(kind)
    return column
