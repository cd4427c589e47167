"""A picture of the package: its rooms, in the order in which they may import each other."""

import textwrap

from docs.pictures.drawing import GREY, INK, PALE, SKY, Drawing

from mapgauge import manifest


def feature_lines() -> tuple[str, ...]:
    """Return the names of all features in lines, from their manifests."""
    names = ", ".join(one.name for one in manifest.own() if one.module != manifest.CORE)
    return tuple(textwrap.wrap(names, 72))


# A room is a folder or a module at the top of the package, with one line about it. The order is that of the imports.
ROOMS: dict[str, dict[str, tuple[str, ...]]] = {
    "foundations": {
        "version": ("the version",),
        "errors": ("errors and", "remedies"),
        "typing": ("names of types",),
        "dependencies": ("optional", "packages"),
        "arguments": ("checks of", "arguments"),
        "decoding": ("JSON in", "threads"),
        "markup": ("HTML, SVG,", "colours"),
        "words": ("numbers with", "their nouns"),
    },
    "tables": {
        "manifest": ("manifests of features and plug-ins,", "and the tables made from them"),
        "core": ("the manifest of the core: its metrics,", "formats, commands, figures, names"),
    },
    "computing": {
        "kernels": ("all compiled code; imports", "nothing from other rooms"),
        "geometry": ("polylines, resampling,", "cropping, poses"),
        "solver": ("linear programmes", "of assignments"),
        "protocols": ("named settings: the", "table PROTOCOLS"),
    },
    "data": {
        "frames": ("MapFrames, alignment, joining,", "batches, findings"),
        "io": ("one module per file format:", "the table FORMATS"),
    },
    "metrics": {
        "distances": ("of two polylines: SOSPA,", "Chamfer, Fréchet"),
        "metrics": ("between two sets: PLD, AP;", "the table METRICS"),
        "checks": ("what may be wrong with the", "input: the table CHECKS"),
    },
    "scores": {
        "scoring": ("groups, scores of frames,", "exact sums"),
        "results": ("results, comparison,", "causes, storage"),
        "hooks": ("what features add to", "commands of the core"),
        "evaluation": ("evaluate, engines,", "streaming, sweeps"),
        "answers": ("what results say,", "in sentences"),
    },
    "data sets": {
        "truth": ("ground truth from the maps of", "nuScenes and Argoverse 2"),
        "cameras": ("images of frames, and lines", "projected into them"),
        "demo": ("a synthetic world and", "two detectors"),
    },
    "views": {
        "views": ("figures and the", "HTML report"),
        "features": feature_lines(),
        "plot": ("public figures",),
        "report": ("public report",),
    },
    "uses": {
        "plugin": ("for authors of", "plug-ins"),
        "training": ("accumulator, torch,", "mmengine, loggers"),
        "loggers": ("W&B, MLflow,", "TensorBoard"),
        "torch": ("torchmetrics,", "losses"),
        "mmengine": ("mmengine",),
    },
    "entry points": {
        "__init__": ("the public names, import mapgauge",),
        "cli": ("the command line",),
        "__main__": ("python -m mapgauge",),
    },
}

WIDTH, LEFT, GAP, HEIGHT = 1010, 128.0, 10.0, 76.0
_SHARES = {"features": 4.0}  # widths of rooms in their row; 1 for the others


def draw_rooms() -> Drawing:
    """The rooms in rows; a room may import from the rows above it and from the rooms to its left."""
    drawing = Drawing(
        WIDTH,
        round(66 + len(ROOMS) * (HEIGHT + GAP)),
        "The rooms of the package",
        "Folders and modules in rows. A room may import from the rows above it and from the rooms to its left.",
    )
    drawing.text(24, 32, "A room may import from the rows above it, and from the rooms to its left.", 13.5, GREY)
    for k, (row, rooms) in enumerate(ROOMS.items()):
        top = 52 + k * (HEIGHT + GAP)
        drawing.text(24, top + HEIGHT / 2 + 5, row, 13.5, GREY)
        shares = [_SHARES.get(name, 1.0) for name in rooms]
        unit = (WIDTH - 24 - LEFT - GAP * (len(rooms) - 1)) / sum(shares)
        u = LEFT
        for share, (name, about) in zip(shares, rooms.items(), strict=True):
            width = unit * share
            drawing.box(u, top, width, HEIGHT, SKY if name == "kernels" else PALE)
            drawing.text(u + 12, top + 24, name, 14, INK, weight=700)
            for line, words in enumerate(about):
                drawing.text(u + 12, top + 44 + 17 * line, words, 12)
            u += width + GAP
    return drawing
