"""What thresholds on the confidence do."""

from mapgauge.manifest import Command, Feature, Figure

FEATURE = Feature(
    commands={
        "confidence": Command(
            place="command:confidence",
            group="Ask",
            order=2,
            examples=("results.mg --figure confidence.png", "predictions.json truth.pkl --thresholds thresholds.json"),
        ),
    },
    figures={
        "calibration": Figure(
            place="figure:calibration",
            command="calibration",
            about="the share of hits over the confidence",
            options=("metric", "threshold"),
            needs_data="figure:calibration_needs_data",
            order=7,
        ),
        "confidence": Figure(
            place="figure:confidence",
            command="confidence",
            about="PLD, precision, recall and AP over the threshold on the confidence, and calibration",
            needs_data="figure:confidence_needs_data",
            order=8,
        ),
    },
    sentences=("advice:advice",),
    ahead=("advice:ahead",),
    names={
        "Reliability": "calibration:Reliability",
        "CommonThreshold": "confidence:CommonThreshold",
        "Confidence": "confidence:Confidence",
        "confidence": "confidence:confidence",
        "ClassConfidence": "operating:ClassConfidence",
        "HeldOut": "operating:HeldOut",
        "Levels": "levels:Levels",
        "Recalibrated": "operating:Recalibrated",
        "Radius": "radius:Radius",
    },
)
