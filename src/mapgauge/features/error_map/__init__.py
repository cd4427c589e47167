"""Error maps: how often each piece of the road was found, over all frames that saw it, and the worst places."""

from mapgauge.manifest import Command, Feature, Figure

FEATURE = Feature(
    commands={
        "errors": Command(
            place="command:errors",
            group="Ask",
            order=2,
            examples=("results.mg -o errors.geojson", "A.mg B.mg --confidence 0.3 --figure errors.pdf"),
        ),
    },
    figures={
        "errors": Figure(
            place="figure:errors",
            command="errors",
            about="where on the map methods fail",
            needs_data="figure:needs_data",
            order=10,
        ),
    },
    sections=("report_section:SECTION",),
    ahead=("ahead:ahead",),
    names={
        "ErrorMap": "error_map:ErrorMap",
        "ErrorPlace": "places:ErrorPlace",
        "error_map": "error_map:error_map",
    },
)
