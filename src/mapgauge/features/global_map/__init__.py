"""Global maps: frames accumulated over a drive, or maps of whole scenes, against the truth of the same region."""

from mapgauge.manifest import Command, Feature, Figure

FEATURE = Feature(
    commands={
        "global": Command(
            place="command:global_map",
            group="Ask",
            order=7,
            examples=(
                "model_maps.json av2_all_gt.json",
                "tracked.parquet truth.parquet --rule median --over-time --figure map.png",
            ),
        ),
    },
    figures={
        "global_map": Figure(place="figures:global_map"),
    },
    sections=("report_section:SECTION",),
    names={
        "Gap": "gap:Gap",
        "GlobalMap": "global_map:GlobalMap",
        "global_map": "global_map:global_map",
    },
    needs=("network", "tracks"),
)
