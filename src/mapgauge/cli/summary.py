"""Results as tables: one per metric for people and papers, rows for machines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mapgauge.cli.documents import Form, cell, write_csv, write_json, write_latex
from mapgauge.cli.output import Table, say, show_table
from mapgauge.display.tables import number

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results

TITLES = {
    "pld": "PLD",
    "localisation": "Loc",
    "detection": "Det",
    "matched_points": "matched",
    "unmatched_points": "unmatched",
    "ap_chamfer": "Chamfer-AP",
    "ap_frechet": "Fréchet-AP",
    "ap_sospa": "SOSPA-AP",
}


def better(metric: str) -> tuple[str, str]:
    """Which direction is better: an arrow, and in words."""
    return ("↓", "lower is better") if metric == "pld" else ("↑", "higher is better")


def titled(key: str) -> str:
    """How a value is called at the head of a column."""
    title = TITLES.get(key, key)
    return title if key in ("localisation", "detection") else f"{title} {better(key)[0]}"


def show_results(form: Form, results: Sequence["Results"], names: Sequence[str]) -> None:
    """The summary of one or several methods on stdout."""
    if form == "json":
        documents = [{"name": name} | one.to_dict() for name, one in zip(names, results, strict=True)]
        write_json(documents[0] if len(documents) == 1 else documents)
    elif form == "csv":
        write_csv(
            [
                {"name": name, "class": class_name} | values
                for name, one in zip(names, results, strict=True)
                for class_name, values in _rows(one)
            ]
        )
    elif form == "latex":
        for metric in results[0].metrics:
            _latex(metric, results, names)
    else:
        for metric in results[0].metrics:
            show_table(_table(metric, results, names))
        say()
        for name, one in zip(names, results, strict=True):
            say((f"{name}: " if len(names) > 1 else "") + _frames(one), indent="  ")


def _rows(results: "Results") -> list[tuple[str, dict[str, Any]]]:
    return [*results.classes.items(), ("mean", results.mean)]


def _table(metric: str, results: Sequence["Results"], names: Sequence[str]) -> Table:
    """A row per method, class and mean."""
    columns = _columns(metric, results[0])
    several = len(results) > 1
    rows = [
        [
            *([name] if several else []),
            class_name,
            *(_count(values.get(key)) for key in ("predictions", "truth")),
            *(number(values[key]) for key in columns),
        ]
        for name, one in zip(names, results, strict=True)
        for class_name, values in _rows(one)
    ]
    header = [*(["name"] if several else []), "class", "predictions", "truth", *columns.values()]
    return Table(_title(metric, results[0].protocol), header, rows, 2 if several else 1)


def _columns(metric: str, results: "Results") -> dict[str, str]:
    """The keys of a metric's values, and what to call them."""
    keys = results.mean
    name = "AP" if metric != "pld" else "PLD"
    columns = {metric: f"{name} {better(metric)[0]}"}
    if metric == "pld":
        from mapgauge.metrics.pld import Parts

        columns |= {key: TITLES.get(key, key) for key in ("localisation", "detection", *Parts._fields)}
        columns |= {key: f"PLD {key.removeprefix('pld:')}" for key in keys if key.startswith("pld:")}
    unit = "" if metric == "ap_sospa" else " m"
    columns |= {key: f"{name} {float(key.partition('@')[2])}{unit}" for key in keys if key.startswith(f"{metric}@")}
    return columns


def _title(metric: str, protocol: "Protocol") -> str:
    """The metric, which direction is better, and the settings that its numbers need."""
    sampling = "points as in the files"
    if protocol.spacing is not None:
        sampling = f"a sample every {protocol.spacing:g} m"
    elif protocol.count is not None:
        sampling = f"{protocol.count} samples per polyline"
    settings = [sampling]
    if metric == "pld":
        settings.insert(0, f"cutoff {protocol.cutoffs[0]:g} m, order {protocol.order:g}")
    elif metric != "ap_sospa":
        settings.insert(0, "mean over thresholds in metres")
    return f"{TITLES[metric]}, {better(metric)[1]} ({protocol.name}; {', '.join(settings)})"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _frames(results: "Results") -> str:
    """How many frames there were, and which of them had less than two sides."""
    frames = results.to_dict()["frames"]
    return (
        f"{frames['evaluated']} frames evaluated; {frames['missing']} missing from the predictions (counted as empty), "
        f"{frames['without_truth']} without truth, {frames['ignored']} predicted frames ignored"
    )


def _latex(metric: str, results: Sequence["Results"], names: Sequence[str]) -> None:
    """As in the paper: a row per method, a column per class, and the mean; of PLD also its two groups."""
    classes = results[0].class_names
    title = f"m{'PLD' if metric == 'pld' else 'AP'}"
    groups = ("localisation", "detection") if metric == "pld" else ()
    columns = [
        *([one.classes[name][metric] for one in results] for name in classes),
        [one.mean[metric] for one in results],
    ]
    best = [_best(metric, column) for column in columns]
    rows = [
        [
            name,
            *(cell(column[k], bold=column[k] == winner) for column, winner in zip(columns, best, strict=True)),
            *(cell(results[k].mean[key]) for key in groups),
        ]
        for k, name in enumerate(names)
    ]
    header = ["", *classes, f"{better(metric)[0]} {title}", *(f"m{TITLES[key]}" for key in groups)]
    write_latex(header, rows, _title(metric, results[0].protocol))


def _best(metric: str, column: Sequence[float | None]) -> float | None:
    """The best value; none where there is nothing to choose from."""
    there = [value for value in column if value is not None]
    if len(there) < 2:
        return None
    return min(there) if metric == "pld" else max(there)
