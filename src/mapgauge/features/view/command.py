"""``mapgauge view``: opens results in the browser."""

import socket
import sys
import webbrowser
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.methods import check_one_protocol, each_results, load_all, moved_files, with_data
from mapgauge.cli.output import inform, say
from mapgauge.cli.parsing import as_given, file_names, refuse
from mapgauge.cli.slices import tags_of

if TYPE_CHECKING:
    from mapgauge import Results
    from mapgauge.features.view.server import Server
    from mapgauge.results.one_frame import Moved

_PORT = "Port of this machine. Default: a free one."
_NO_BROWSER = "Do not open a browser; print the address only."
_UNTIL_CLOSED = "End when the last tab is closed."
_HIGHEST = 65535


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """The options of ``mapgauge view``."""

    results: o.ResultsArgument
    images: o.ImagesOption = None
    poses: o.PosesOption = None
    port: Annotated[int, o.option("--port N", o.WORK, _PORT, least=0, show_default=False)] = 0
    no_browser: Annotated[bool, o.option("--no-browser", o.WORK, _NO_BROWSER)] = False
    until_closed: Annotated[bool, o.option("--until-closed", o.WORK, _UNTIL_CLOSED)] = False
    quiet: o.QuietOption = False


@command
def view(options: ViewOptions) -> None:
    """Look at all frames of results in the browser.

    The page lists, filters and draws every frame. It comes from a server on this machine that reads files and writes
    none. End it with Ctrl-C.
    """
    if options.port > _HIGHEST:
        refuse("--port", f"must be at most {_HIGHEST}, got {options.port}")
    images = options.images
    if images is not None and not images.is_dir():
        refuse("--images", f"expected the folder of nuScenes or Argoverse 2, and {images} is no folder")
    poses = options.poses
    if poses is not None and getattr(poses, "url", None) is None and not poses.exists():
        refuse("--poses", f"expected a file of poses or the folder of a data set, and {poses} does not exist")
    paths = each_results(options.results)
    names = file_names(paths)

    from mapgauge.features.view.explorer import Explorer, Method
    from mapgauge.features.view.server import Server

    tags = tags_of(paths)
    methods = load_all(paths, names)
    check_one_protocol(names, methods)
    if len(methods) > 1:
        from mapgauge.results.comparison import check_comparable

        check_comparable(methods, names)
    given = [
        Method(
            name,
            as_given(path),
            loaded,
            with_data=partial(with_data, loaded, path),
            alone=partial(_alone, loaded, moved_files(path)),
        )
        for name, path, loaded in zip(names, paths, methods, strict=True)
    ]
    explorer = Explorer(given, tags=tags, images=images, poses=poses, tell=inform, tabs=options.until_closed)
    server = Server(explorer.routes, options.port)
    say(server.address)
    inform(f"From another machine: ssh -L {server.port}:127.0.0.1:{server.port} {socket.gethostname()}")
    inform("End with Ctrl-C" + (", or by closing the last tab" if options.until_closed else ""))
    sys.stdout.flush()
    try:
        _serve(server, options)
    finally:
        explorer.reading.end()


def _alone(results: "Results", moved: "Moved", token: str) -> "Results | None":
    """Return a frame with its data before those of all frames are read; None if it cannot be read alone."""
    from mapgauge.results.one_frame import frame_alone  # it imports what reads Parquet; the address does not wait

    return frame_alone(results, token, moved)


def _serve(server: "Server", options: ViewOptions) -> None:
    """Open the page in the browser, unless that is not wanted, and answer until the end."""
    if options.no_browser:
        server.run(until_closed=options.until_closed)
        return
    with server.page() as page:
        webbrowser.open_new_tab(page.as_uri())
        server.run(until_closed=options.until_closed)
