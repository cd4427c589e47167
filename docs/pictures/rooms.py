"""A picture of the package: its rooms, in the order in which they may import each other."""

from docs.pictures.drawing import GREY, INK, PALE, SKY, Drawing

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
        "plugins": ("tables with", "plug-ins"),
    },
    "computing": {
        "kernels": ("all compiled code; imports nothing", "from the other rooms"),
        "geometry": ("polylines, resampling, cropping,", "buffers, poses"),
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
        "evaluation": ("evaluate, engines, streaming,", "sweeps, exact sums"),
        "results": ("results, comparison,", "storage"),
    },
    "data sets": {
        "truth": ("ground truth from the maps of", "nuScenes and Argoverse 2"),
        "cameras": ("images of frames, and lines", "projected into them"),
        "demo": ("a synthetic world and", "two detectors"),
    },
    "views": {
        "views": ("figures and the", "HTML report"),
        "features": ("causes, confidence, tracks,", "lanes, network, solver"),
        "plot": ("public figures",),
        "report": ("public report",),
    },
    "training": {
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
        width = (WIDTH - 24 - LEFT - GAP * (len(rooms) - 1)) / len(rooms)
        for column, (name, about) in enumerate(rooms.items()):
            u = LEFT + column * (width + GAP)
            drawing.box(u, top, width, HEIGHT, SKY if name == "kernels" else PALE)
            drawing.text(u + 12, top + 24, name, 14, INK, weight=700)
            for line, words in enumerate(about):
                drawing.text(u + 12, top + 44 + 17 * line, words, 12)
    return drawing
