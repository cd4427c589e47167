"""Maps over time: tracks, switches, flicker."""

from mapgauge.manifest import Command, Feature, Figure

FEATURE = Feature(
    metrics=("track_pld:TRACK_PLD", "consistent_ap:C_MAP", "consistent_ap:MAS"),
    protocols=("protocols:protocols_of_tracks",),
    citations=("citations:STABILITY", "citations:TRACKED", "citations:OWN"),
    checks=("checks:checks_of_tracks",),
    commands={
        "track": Command(
            place="command:track",
            group="Data",
            order=5,
            examples=(
                "predictions.json --poses truth.geojson -o tracked.parquet",
                "A.parquet --method maptracker -o tracked.parquet",
            ),
        ),
        "consistency": Command(
            place="command:consistency",
            group="Ask",
            order=6,
            examples=("predictions.json --poses truth.geojson", "A.parquet B.parquet --lags 1,10 --figure flicker.png"),
        ),
    },
    figures={
        "lags": Figure(place="figures:lags"),
        "strip": Figure(
            place="figures:strip",
            command="strip",
            about="the tracks of a scene over time",
            options=("scene", "classes"),
            needs_data="figures:strip_needs_data",
            order=9,
        ),
    },
    sections=("strips:SECTION",),
    names={
        "Consistency": "consistency:Consistency",
        "Transitions": "consistency:Transitions",
        "consistency": "consistency:consistency",
        "Change": "track_pld:Change",
        "Stretch": "track_pld:Stretch",
        "TrackMatch": "track_pld:TrackMatch",
        "TrackParts": "track_pld:TrackParts",
        "TrackPldResult": "track_pld:TrackPldResult",
        "TrueTrack": "track_pld:TrueTrack",
        "track_pld": "track_pld:track_pld",
        "track": "tracking:track",
    },
    torch={
        "ConsistentPolylineAveragePrecision": "torch_metrics:ConsistentPolylineAveragePrecision",
        "PolylineStability": "torch_metrics:PolylineStability",
        "TrackPolylineLocalisationDetection": "torch_metrics:TrackPolylineLocalisationDetection",
    },
)
