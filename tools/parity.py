"""Prints the numbers of public evaluators and those of mapgauge side by side.

Without arguments for the made-up files in ``tests/data/parity``, which are part of the repository::

    python -m tools.parity

For your own files, each evaluator has an option. It takes the predictions, the truth, and what the evaluator has
printed or saved: its log, or a JSON document such as ``{"divider": {"AP@0.5": 0.41}, "mAP": 0.55}``::

    python -m tools.parity --streammapnet submission_vector.json gts.pkl log.txt
    python -m tools.parity --maptr nuscmap_results.json nuscenes_map_anns_val.json log.txt

Instead of three files an option takes a folder with files of the evaluator and its numbers in ``reference.json``.
``docs/parity.md`` has the results. The exit code is 1 if a number differs by more than the evaluator's arithmetic
explains, or if mapgauge has none for it, and 2 if a file cannot be used.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mapgauge as mg

SHIPPED = Path(__file__).parents[1] / "tests" / "data" / "parity"
REFERENCE = "reference.json"
CLASSES = ("ped_crossing", "divider", "boundary")
FRECHET = (0.5, 1.0, 1.5, 2.0, 3.0)  # thresholds of the authors' Fréchet-AP in the shipped numbers
FLOAT32 = 1e-7
DOUBLE = 1e-12
MEAN = "mean over classes"

Numbers = dict[str, float]  # by words such as "divider AP@0.5" and "mAP"


class Unusable(Exception):
    """A file that cannot be compared, with the reason."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Files that an evaluator has evaluated, and its numbers."""

    name: str
    predictions: Path
    truth: Path
    theirs: Numbers
    protocol: str  # of mapgauge, with the rules of the evaluator
    metric: str = "ap_chamfer"
    tolerance: float = DOUBLE
    tracks: Path | None = None  # ids of the truth
    decimals: int | None = None  # of printed numbers; None if they are complete
    # The numbers of mapgauge; None for ``ours``.
    compute: "Callable[[Case], tuple[Numbers, mg.Results | None]] | None" = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """A number of both."""

    value: str
    theirs: float
    ours: float | None  # None if mapgauge has no such number
    verdict: str  # "", "ties", "DIFFERENT" or "NOT COMPARED"


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """A public evaluator: how its numbers are stored and computed."""

    option: str
    title: str
    shipped: Callable[[], Iterator[Case]]
    folder: Callable[[Path], Iterator[Case]]
    files: Callable[[Path, Path, Path], Case] | None = None  # predictions, truth, and a log or JSON


def flat(document: Mapping[str, Any], words: Mapping[str, str] | None = None) -> Numbers:
    """Return the numbers of a document with an object for each class. ``words`` rename keys."""
    found: Numbers = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            for key, number in value.items():
                word = key
                for old, new in (words or {}).items():
                    word = re.sub(rf"^{old}(?=@|$)", new, word)
                if re.match(r"(C-)?AP|FD-AP|PLD|Loc", word):
                    found[f"{name} {word}"] = number
        elif name == "mAP":
            found[name] = value
    for name, value in found.items():
        if not isinstance(value, int | float):
            raise Unusable(f"expected a number for {name}, got {value!r}")
    return found


def printed(text: str) -> tuple[Numbers, int]:
    """Return the numbers in a log, and the fewest decimals of them.

    StreamMapNet, MapTracker and GlobalMapNet print a table with a column for each threshold. MapTR and VAD print names
    such as ``NuscMap_chamfer/divider_AP_thr_0.5``. The last evaluation in a log counts.
    """
    found: dict[str, str] = {}
    heads: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if any(re.fullmatch(r"AP@[\d.]+", cell) for cell in cells):
            heads = cells
        elif heads and len(cells) == len(heads):
            found |= {f"{cells[0]} {head}": cell for head, cell in zip(heads, cells, strict=True) if head[:2] == "AP"}
    for mean in re.finditer(r"\bmAP_(?:normal|chamfer) = ([\d.]+)", text):
        found["mAP"] = mean[1]
    for value in re.finditer(r"NuscMap_chamfer/(\w+?)_AP(?:_thr_([\d.]+))?['\"]?: (?:\w+\()?([\d.]+(?:e-\d+)?)", text):
        threshold = f"@{float(value[2])}" if value[2] else ""
        found[f"{value[1]} AP{threshold}"] = value[3]
    for mean in re.finditer(r"NuscMap_chamfer/mAP['\"]?: (?:\w+\()?([\d.]+)", text):
        found["mAP"] = mean[1]
    if not found:
        raise Unusable("no number was found in the log: expected a table with AP@..., or NuscMap_chamfer/mAP")
    decimals = min(len(number.partition(".")[2]) for number in found.values())
    return {name: float(number) for name, number in found.items()}, decimals


def text_of(path: Path) -> str:
    """Return the text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Unusable(f"{path}: expected a log or JSON, got a file that is no text") from None


def document_of(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    try:
        document = json.loads(text_of(path))
    except json.JSONDecodeError as error:
        raise Unusable(f"{path}: expected JSON, but it is damaged: {error}") from None
    if not isinstance(document, dict):
        raise Unusable(f"{path}: expected a JSON object, got {type(document).__name__}")
    return document


def numbers_of(path: Path) -> tuple[Numbers, int | None]:
    """Return the numbers in a JSON document or a log, and their decimals; None for JSON, which has all."""
    try:
        if path.suffix != ".json":
            return printed(text_of(path))
        document = document_of(path)
        found = flat(document.get("results", document))
    except Unusable as error:
        raise Unusable(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    if not found:
        raise Unusable(f'{path}: expected numbers such as {{"divider": {{"AP@0.5": 0.41}}, "mAP": 0.55}}, got none')
    return found, None


def region_of(theirs: Numbers) -> str:
    """Return the region that the thresholds belong to."""
    if any(name.endswith("@2.0") for name in theirs):
        return "100x50"
    return "60x30"


# The numbers of mapgauge.


def ours(case: Case) -> tuple[Numbers, mg.Results | None]:
    """Return the numbers of mapgauge for a case, by the words of the evaluator."""
    protocol = mg.protocol(case.protocol)
    if case.protocol.startswith("paper-"):
        cutoffs = tuple(sorted({float(name.partition("@")[2]) for name in case.theirs if " PLD@" in name}))
        thresholds = {"ap_chamfer": {"thresholds": cutoffs}, "ap_frechet": {"thresholds": FRECHET}}
        protocol = mg.protocol(case.protocol, cutoffs=cutoffs, settings=thresholds)
    truth = mg.read(case.truth) if case.tracks is None else mg.read(case.truth, tracks=case.tracks)
    results = mg.evaluate(mg.read(case.predictions), truth, protocol)
    words = {case.metric: "AP", "ap_frechet": "FD-AP", "pld": "PLD", "localisation": "Loc"}
    found: Numbers = {}
    for label, values in [*results.classes.items(), (MEAN, results.mean)]:
        for key, value in values.items():
            metric, _, threshold = key.partition("@")
            if metric in words and value is not None:
                found[f"{label} {words[metric]}{f'@{float(threshold)}' if threshold else ''}"] = value
    mean = results.mean.get(case.metric)
    if mean is not None:
        found["mAP"] = mean
    return found, results


def stepwise(hits: NDArray[np.bool_], truth: int) -> float:
    """Return the average precision of predictions that are ranked one by one, as most evaluators compute it."""
    reached = np.cumsum(hits)
    precision = reached / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(envelope[hits].sum() / truth)


def orders(results: mg.Results, metric: str, name: str) -> tuple[float, float] | None:
    """Return the lowest and the highest average precision over all orders of equal confidences.

    Evaluators rank them in the order that an unstable sort leaves. mapgauge takes them as one step.
    """
    label, _, word = name.rpartition(" ")
    if label == MEAN or not word.startswith("AP@") or metric not in results.scores.hits:
        return None
    threshold = results.protocol.settings[metric].thresholds.index(float(word.partition("@")[2]))
    mine = results.scores.label == results.class_names.index(label)
    hits = ((results.scores.hits[metric][mine] >> threshold) & 1).astype(np.bool_)
    confidence = results.scores.confidence[mine]
    truth = int(results.scores.true[:, results.class_names.index(label)].sum())
    if not truth or not len(hits):
        return None
    low = np.lexsort([hits, -confidence])
    high = np.lexsort([~hits, -confidence])
    return stepwise(hits[low], truth), stepwise(hits[high], truth)


def rows_of(case: Case) -> Iterator[Row]:
    """Yield all numbers that both have."""
    compute = case.compute or ours
    found, results = compute(case)
    tolerance = case.tolerance
    if case.decimals is not None:
        tolerance = max(tolerance, 0.5000001 * 10**-case.decimals)
    ties = 0.0  # the most that the order of ties moves a value of this file
    for name, value in case.theirs.items():
        if name not in found:
            yield Row(value=name, theirs=value, ours=None, verdict="NOT COMPARED")
            continue
        verdict = ""
        bounds = None
        if results is not None:
            bounds = orders(results, case.metric, name)
        if bounds is not None:
            ties = max(ties, bounds[1] - bounds[0])
        if abs(value - found[name]) > tolerance:
            verdict = "DIFFERENT"
            if bounds is not None and bounds[0] - tolerance <= value <= bounds[1] + tolerance:
                verdict = "ties"
            # A mean of thresholds or classes moves by no more than its values.
            if "@" not in name and abs(value - found[name]) <= ties + tolerance:
                verdict = "ties"
        yield Row(value=name, theirs=value, ours=found[name], verdict=verdict)


# The evaluators.


def read_reference(folder: Path) -> dict[str, Any]:
    """Return the numbers that are stored beside files."""
    path = folder / REFERENCE
    if not path.is_file():
        takes = f"a folder with {REFERENCE}, or three files: predictions, truth, and a log or JSON"
        raise Unusable(f"{folder}: expected {takes}")
    return document_of(path)


def numbers_under(folder: Path, key: str) -> dict[str, Any]:
    """Return those under a key."""
    found = read_reference(folder).get(key)
    if not isinstance(found, dict) or not found:
        raise Unusable(f"{folder / REFERENCE}: expected numbers under {key}, got none")
    return found


def shipped_case(evaluator: str, quality: str, **changes: Any) -> Case:
    """Return a case of the shipped files."""
    public = read_reference(SHIPPED)[evaluator]["values"][quality]
    if evaluator == "maptrv2":
        files = f"nuscmap_results_{quality}.json.gz", "demo_map_anns.json"
    else:
        files = f"submission_vector_{quality}.json.gz", "tmp_gts_demo_60x30.pkl"
    usual = {
        "name": quality,
        "predictions": SHIPPED / files[0],
        "truth": SHIPPED / files[1],
        "theirs": flat(public, {"CD-AP": "AP"}),
    }
    return Case(**{**usual, **changes})


def shipped_sospa() -> Iterator[Case]:
    """The authors' code. Its Loc of crossings counts a point too many; the reference has it without that point."""
    for quality in ("good", "poor"):
        case = shipped_case("sospa", quality, protocol="paper-60x30", tolerance=1e-8)
        once = read_reference(SHIPPED)["sospa"]["loc_ring_points_counted_once"]["values"][quality]
        theirs = dict(case.theirs)
        theirs |= {f"ped_crossing {name}": value for name, value in once.items() if name.startswith("Loc@")}
        # Means of Loc have that point. Means of some thresholds follow from the values at each.
        left_out = f"{MEAN} Loc@", " mean of "
        theirs = {name: value for name, value in theirs.items() if not any(words in name for words in left_out)}
        yield shipped_case("sospa", quality, protocol="paper-60x30", tolerance=1e-8, theirs=theirs)


def shipped_streammapnet() -> Iterator[Case]:
    """StreamMapNet on the shipped files."""
    for quality in ("good", "poor"):
        yield shipped_case("streammapnet", quality, protocol="streammapnet-60x30")


def shipped_maptr() -> Iterator[Case]:
    """MapTRv2 on the shipped files."""
    for quality in ("good", "poor"):
        yield shipped_case("maptrv2", quality, protocol="maptr", tolerance=FLOAT32)


def maptracker_cases(
    values: Mapping[str, Any], truth: Path, tracks: Path, place: Callable[[str], Path]
) -> Iterator[Case]:
    """MapTracker's average precision without and with consistent ids."""
    for quality, public in values.items():
        for kind, metric, word in (("mAP_consist0", "ap_chamfer", "mAP"), ("CmAP_consist1", "c_map", "C-mAP")):
            theirs = {"mAP": public[kind]["total"]}
            theirs |= {f"{label} AP": value for label, value in public[kind]["mean"].items()}
            for label, by_threshold in public[kind]["AP"].items():
                theirs |= {f"{label} AP@{float(threshold)}": value for threshold, value in by_threshold.items()}
            yield Case(
                name=f"{quality}, {word}",
                predictions=place(quality),
                truth=truth,
                tracks=tracks,
                theirs=theirs,
                protocol="maptracker-c-60x30",
                metric=metric,
            )


def shipped_maptracker() -> Iterator[Case]:
    """MapTracker on the shipped files."""
    values = read_reference(SHIPPED)["maptracker"]["values"]
    truth, tracks = SHIPPED / "tmp_gts_demo_60x30.pkl", SHIPPED / "demo_gt_tracks.pkl"
    yield from maptracker_cases(values, truth, tracks, lambda quality: SHIPPED / f"pos_predictions_{quality}.pkl")


def folder_sospa(folder: Path) -> Iterator[Case]:
    """``reference.json`` with ``sospa_public``, beside a pair of StreamMapNet."""
    public = numbers_under(folder, "sospa_public")
    theirs = flat(public["PLD"], {"PLD_cost": "PLD", "PLD_loc": "Loc"}) | flat(public["chamfer_AP"])
    # Loc of closed lines has a point too many (``shipped_sospa``). Means of thresholds follow from the values at each.
    theirs = {name: value for name, value in theirs.items() if "@" in name and "ped_crossing Loc" not in name}
    region = region_of(theirs)
    yield Case(
        name=folder.name,
        predictions=folder / "submission_vector.json",
        truth=only(folder, "tmp_gts_*.pkl"),
        theirs=theirs,
        protocol=f"paper-{region}",
        tolerance=FLOAT32,  # the code keeps costs in float32
    )


def folder_streammapnet(folder: Path) -> Iterator[Case]:
    """``reference.json`` with ``streammapnet``, beside its files."""
    yield case_streammapnet(
        folder / "submission_vector.json", only(folder, "tmp_gts_*.pkl"), numbers_under(folder, "streammapnet")
    )


def case_streammapnet(predictions: Path, truth: Path, given: Path | Mapping[str, Any]) -> Case:
    """Files of StreamMapNet with its numbers."""
    theirs, decimals = numbers_of(given) if isinstance(given, Path) else (flat(given.get("results", given)), None)
    return Case(
        name=predictions.parent.name or predictions.name,
        predictions=predictions,
        truth=truth,
        theirs=theirs,
        protocol=f"streammapnet-{region_of(theirs)}",
        decimals=decimals,
    )


def folder_maptr(folder: Path) -> Iterator[Case]:
    """``reference.json`` with ``maptrv2``, beside its files."""
    public = numbers_under(folder, "maptrv2")
    yield case_maptr(folder / "nuscmap_results.json", folder / "nuscenes_map_anns_val.json", public)


def case_maptr(predictions: Path, truth: Path, given: Path | Mapping[str, Any]) -> Case:
    """Files of MapTR with its numbers."""
    theirs, decimals = numbers_of(given) if isinstance(given, Path) else (flat(given.get("results", given)), None)
    return Case(
        name=predictions.parent.name or predictions.name,
        predictions=predictions,
        truth=truth,
        theirs=theirs,
        protocol="maptr",
        tolerance=FLOAT32,
        decimals=decimals,
    )


def folder_vad(folder: Path) -> Iterator[Case]:
    """``reference.json`` of VAD, beside its files."""
    public = numbers_under(folder, "chamfer")
    yield case_maptr(folder / "results_nusc.pkl", folder / "nuscenes_map_anns_val.json", public)


def folder_maptracker(folder: Path) -> Iterator[Case]:
    """``reference.json`` with an entry for each model, beside folders with its predictions."""
    truth, tracks = only(folder, "tmp_gts_*.pkl"), only(folder, "*_gt_tracks.pkl")
    yield from maptracker_cases(
        read_reference(folder), truth, tracks, lambda model: folder / model / "pos_predictions.pkl"
    )


LANE_SCORES = {
    "DET_t": "det_t",
    "DET_a": "det_a",
    "TOP_ll": "top_ll",
    "TOP_lt": "top_lt",
    "OLS": "ols",
    "OLUS": "olus",
    "F": "f_lane",
}


def ours_of_lanes(case: Case) -> tuple[Numbers, mg.Results | None]:
    """The scores of OpenLane-V2."""
    mean = mg.evaluate(mg.read(case.predictions), mg.read(case.truth), case.protocol).mean
    names = LANE_SCORES | {"DET_l": "det_ls" if "-v2" in case.protocol else "det_l"}
    return {called: value for called, name in names.items() if (value := mean.get(name)) is not None}, None


def folder_openlanev2(folder: Path) -> Iterator[Case]:
    """``reference.json`` with versions of the kit and models, beside folders with their files."""
    for version, models in read_reference(folder).items():
        if not re.fullmatch(r"v\d\.\d", version):
            continue
        for model, public in models.items():
            # The assignment behind the F-score is not unique, and moves it by up to 0.002. It is not compared.
            theirs = {name: value for name, value in public["scores"].items() if name != "F"}
            yield Case(
                name=f"{folder.name}, {model}",
                predictions=folder / model / "result.pkl",
                truth=only(folder, "data_dict_*.pkl"),
                theirs=theirs,
                protocol=f"openlanev2-{version}",
                tolerance=1e-6,  # the kit computes average precision in float32
                compute=ours_of_lanes,
            )


OF_GLOBAL_MAPS = {"ped": "ped_crossing", "lane": "divider", "road": "boundary"}


def ours_of_global_maps(case: Case) -> tuple[Numbers, mg.Results | None]:
    """GAP of GlobalMapNet."""
    region = (100.0, 50.0) if "100x50" in case.name else (60.0, 30.0)
    gap = mg.global_map(case.predictions, case.truth, region=region).gap
    if gap is None:
        return {}, None
    found = {"mGAP": gap.value}
    for called, label in OF_GLOBAL_MAPS.items():
        for threshold in gap.thresholds:
            found[f"{called} AP@{threshold}"] = gap.classes[label][f"GAP@{threshold}"]
        found[f"{called} AP"] = gap.classes[label]["GAP"]
    return found, None


def folder_globalmapnet(folder: Path) -> Iterator[Case]:
    """``reference.json`` with the numbers of each file of maps, beside the files and ``*_all_gt.json``."""
    for name, public in numbers_under(folder, "maps").items():
        yield Case(
            name=name,
            predictions=folder / name,
            truth=only(folder, "*_all_gt.json"),
            theirs=flat(public) | {"mGAP": public["mGAP"]},
            protocol="GAP",
            tolerance=1e-6,
            compute=ours_of_global_maps,
        )


def only(folder: Path, pattern: str) -> Path:
    """Return the file of a folder with such a name."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise Unusable(f"{folder}: expected one file {pattern}, got {len(found)}")
    return found[0]


def nothing() -> Iterator[Case]:
    """No shipped files."""
    return iter(())


EVALUATORS = (
    Evaluator(option="sospa", title="SOSPA, the authors' code", shipped=shipped_sospa, folder=folder_sospa),
    Evaluator(
        option="streammapnet",
        title="StreamMapNet",
        shipped=shipped_streammapnet,
        folder=folder_streammapnet,
        files=case_streammapnet,
    ),
    Evaluator(option="maptr", title="MapTRv2", shipped=shipped_maptr, folder=folder_maptr, files=case_maptr),
    Evaluator(option="maptracker", title="MapTracker", shipped=shipped_maptracker, folder=folder_maptracker),
    Evaluator(option="openlanev2", title="OpenLane-V2", shipped=nothing, folder=folder_openlanev2),
    Evaluator(option="globalmapnet", title="GlobalMapNet", shipped=nothing, folder=folder_globalmapnet),
    Evaluator(option="vad", title="VAD", shipped=nothing, folder=folder_vad, files=case_maptr),
)


WRONG = ("DIFFERENT", "NOT COMPARED")


def show(title: str, case: Case) -> int:
    """Print the numbers of a case. Returns how many differ, or have no number of mapgauge beside them."""
    rows = list(rows_of(case))
    print(f"\n{title}: {case.name} ({case.protocol})")
    width = max(len(row.value) for row in rows)
    print(f"{'':{width}}  {'theirs':>12}  {'mapgauge':>12}  {'difference':>10}")
    for row in rows:
        ours, gap = "", ""
        if row.ours is not None:
            ours, gap = f"{row.ours:.8f}", f"{row.ours - row.theirs:.1e}"
        print(f"{row.value:{width}}  {row.theirs:12.8f}  {ours:>12}  {gap:>10}  {row.verdict}".rstrip())
    return sum(row.verdict in WRONG for row in rows)


def cases_of_folder(one: Evaluator, folder: Path) -> Iterator[Case]:
    """Yield the cases in a folder."""
    count = 0
    try:
        for case in one.folder(folder):
            count += 1
            yield case
    except (AttributeError, KeyError, TypeError) as error:
        where = folder / REFERENCE
        raise Unusable(f"{where}: these are not the numbers of {one.title} as this tool stores them: {error}") from None
    if not count:
        raise Unusable(f"{folder / REFERENCE}: expected numbers of {one.title}, got none")


def cases_for(chosen: Mapping[str, list[Path] | None]) -> Iterator[tuple[str, Case]]:
    """Yield all cases that were asked for, each with the title of its evaluator."""
    for one in EVALUATORS:
        paths = chosen[one.option] or []
        if not any(chosen.values()):
            cases = one.shipped()
        elif len(paths) == 1:
            cases = cases_of_folder(one, paths[0])
        elif paths and one.files is not None:
            cases = iter([one.files(*paths)])
        else:
            cases = nothing()
        for case in cases:
            yield one.title, case


def main(arguments: list[str] | None = None) -> int:
    """Print all numbers that were asked for. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.parity", description=str(__doc__).partition("\n")[0])
    for one in EVALUATORS:
        takes = "FOLDER, or PREDICTIONS TRUTH NUMBERS" if one.files else "FOLDER"
        parser.add_argument(f"--{one.option}", nargs="+", type=Path, metavar="PATH", help=f"{one.title}: {takes}")
    chosen = vars(parser.parse_args(arguments))
    for one in EVALUATORS:
        count = len(chosen[one.option] or [])
        if count and count not in ((1, 3) if one.files else (1,)):
            takes = "a folder or three files" if one.files else "a folder"
            parser.error(f"--{one.option} takes {takes}, got {count} paths")
    try:
        wrong = sum(show(title, case) for title, case in cases_for(chosen))
    except (Unusable, mg.MapgaugeError) as error:
        print(f"parity: {error}", file=sys.stderr)
        return 2
    if wrong:
        print(f"\nDIFFERENT or NOT COMPARED: {wrong}")
    else:
        print("\nNo number differs by more than arithmetic or the order of ties explains.")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
