"""History: the values of many nights as curves, with steps, slow changes, and what changed in the inputs."""

from mapgauge.manifest import Command, Feature

FEATURE = Feature(
    commands={
        "history": Command(
            place="command:history",
            group="Ask",
            order=5,
            examples=("nights -o history.html", "nights --only-worse --json"),
        ),
    },
    names={
        "history": "history:history",
        "History": "history:History",
        "FittedLevel": "steps:FittedLevel",
        "HistoryChange": "steps:HistoryChange",
        "HistoryCurve": "curves:HistoryCurve",
        "HistoryEvent": "curves:HistoryEvent",
        "InputChange": "inputs:InputChange",
        "Night": "nights:Night",
        "OnScenes": "scenes:OnScenes",
        "SkippedFile": "nights:SkippedFile",
    },
)
