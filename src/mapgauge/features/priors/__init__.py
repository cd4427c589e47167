"""Changed maps: what a prediction keeps, moves, adds and drops of a prior map."""

from mapgauge.manifest import Command, Feature

STATES = ("kept", "moved", "inserted", "deleted")
TRUE_STATES = STATES[:3]  # the states that true lines can have

FEATURE = Feature(
    commands={
        "changes": Command(
            place="command:changes",
            group="Ask",
            order=5,
            examples=(
                "results.mg --prior prior.geojson",
                "predictions.json truth.pkl --prior prior.parquet --same 0.3",
            ),
        ),
    },
    priors=("command:TABLES",),
    names={
        "Changes": "changes:Changes",
        "changes": "changes:changes",
        "mean_accuracy": "labels:mean_accuracy",
        "mark_ignored": "prior:mark_ignored",
    },
)
