"""Suspicious truth: places where several methods agree with each other and not with the truth."""

from mapgauge.manifest import Command, Feature

FEATURE = Feature(
    commands={
        "suspects": Command(
            place="command:suspects",
            group="Ask",
            order=3,
            examples=("A.mg B.mg", "A.json B.json truth.geojson -o suspects.geojson"),
        ),
    },
    names={
        "SuspiciousPlace": "suspicious_truth:SuspiciousPlace",
        "SuspiciousTruth": "suspicious_truth:SuspiciousTruth",
        "suspicious_truth": "suspicious_truth:suspicious_truth",
    },
    needs=("error_map",),
)
