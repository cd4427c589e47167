"""``mapgauge prices``: prints the price of each class."""

from pathlib import Path

import typer

import mapgauge as mg


def prices(file: Path) -> None:
    """Print what missed polylines of each class cost."""
    results = mg.load_results(file)
    for name, values in results.classes.items():
        typer.echo(f"{name} {values['price']:.2f} EUR")
