"""``mapgauge prices``: prints the price of each class. ``mapgauge list prices``: prints the recommended price."""

from pathlib import Path

import typer

import mapgauge as mg


def prices(file: Path) -> None:
    """Print what missed polylines of each class cost."""
    results = mg.load_results(file)
    for name, values in results.classes.items():
        typer.echo(f"{name} {values['price']:.2f} EUR")


def recommended() -> None:
    """List the recommended price."""
    typer.echo("2.00 EUR for a polyline that has no prediction")
