"""Splits: frames like others, overlap of training and validation in place and in shape, and new splits."""

from mapgauge.manifest import Command, Feature, Figure

FEATURE = Feature(
    commands={
        "splits": Command(
            place="command:splits",
            group="Data",
            order=4,
            examples=(
                "overlap train.parquet val.parquet results.mg",
                "propose truth.parquet -o new-splits",
                "thin truth.parquet -o kept.txt",
            ),
        ),
    },
    figures={
        "splits": Figure(place="figure:splits"),
    },
    similar=("similar:similar",),
    names={
        "Diversity": "diversity:Diversity",
        "Thinned": "diversity:Thinned",
        "diversity": "diversity:diversity",
        "thin": "diversity:thin",
        "Joint": "joint:Joint",
        "Neighbours": "neighbours:Neighbours",
        "neighbours": "neighbours:neighbours",
        "SplitOverlap": "overlap:SplitOverlap",
        "splits": "overlap:splits",
        "Proposal": "propose:Proposal",
        "propose": "propose:propose",
    },
)
