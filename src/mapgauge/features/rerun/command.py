"""``mapgauge export``: writes results as a recording for the viewer of Rerun."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.frames import pointing
from mapgauge.cli.methods import load_all, one_results, with_data
from mapgauge.cli.output import inform, progress, warn
from mapgauge.cli.parsing import file_names, refuse
from mapgauge.cli.targets import check_targets
from mapgauge.words import counted

SUFFIX = ".rrd"


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """The options of ``mapgauge export``."""

    result: Annotated[Path, o.files_argument("RESULT", "A file written by `mapgauge evaluate -o`.")]
    output: Annotated[Path, o.output_option("FILE", f"A recording ({SUFFIX}).")]
    scene: Annotated[str | None, o.scene_option("all scenes")] = None
    where: o.WhereOption = None
    images: o.ImagesOption = None
    quiet: o.QuietOption = False


@command
def export(options: ExportOptions) -> None:
    """Write results as a recording for the viewer of Rerun.

    It has the poses, truth, predictions, matches, causes and values of all frames, or of those of a scene or a
    condition, over time. Open it with `rerun FILE`. Files that were moved are given with the results:
    RESULT,predictions=FILE,truth=FILE.
    """
    output = options.output
    images = options.images
    if output.suffix.lower() != SUFFIX:
        refuse("--output", f"a recording: expected a name that ends in {SUFFIX}, got {output}")
    files = [one_results("RESULT", options.result)]
    check_targets([output], [*files, images])

    from mapgauge.dependencies import require
    from mapgauge.features.rerun.recording import write_rerun
    from mapgauge.results.scene_order import scene_frames

    require("rerun", "a recording", "rerun")
    results = with_data(load_all(files, file_names(files))[0], files[0])
    if options.scene is not None:
        results = results.of_frames(scene_frames(results, options.scene))
    with pointing("--where"):
        if options.where is not None:
            results = results.where(options.where)
    with progress("writing the recording") as advance:
        recorded = write_rerun(results, output, images=images, progress=advance)
    if recorded.missing:
        total = recorded.images + recorded.missing
        warn(f"{images}: {recorded.missing} of {total} images are not there and were left out. Download them")
    also = ""
    if images is not None:
        also = f" and {counted(recorded.images, 'image')}"
    inform(f"recording of {counted(recorded.frames, 'frame')}{also} in {output}. Open it with: rerun {output}")
