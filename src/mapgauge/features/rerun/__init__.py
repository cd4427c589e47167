"""Results as a recording for the viewer of Rerun."""

from mapgauge.manifest import Command, Feature

FEATURE = Feature(
    commands={
        "export": Command(
            place="command:export",
            group="Look",
            order=7,
            examples=("results.mg -o drive.rrd", "results.mg --scene scene-0001 --images DATAROOT -o drive.rrd"),
        ),
    },
    names={
        "Recorded": "recording:Recorded",
        "write_rerun": "recording:write_rerun",
    },
)
