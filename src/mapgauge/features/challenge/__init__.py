"""Challenges: a manifest without truth, a check for participants, scores of untrusted files, and a board with ties."""

from mapgauge.manifest import Command, Feature

FEATURE = Feature(
    commands={
        "challenge": Command(
            place="command:challenge",
            group="More",
            order=4,
            examples=(
                "init NAME --truth truth.geojson -o FOLDER",
                "check submission.json --manifest challenge.json",
                "score submission.json --manifest challenge.json --truth truth.geojson -o FOLDER",
                "board FOLDER -o board.html",
            ),
        ),
        "verify": Command(
            place="command:verify",
            group="Ask",
            order=4,
            examples=("results.mg --predictions predictions.json --truth truth.pkl",),
        ),
    },
    names={
        "Challenge": "manifest:Challenge",
        "ChallengeLimits": "manifest:ChallengeLimits",
        "CheckedSubmission": "submission:CheckedSubmission",
        "ScoredSubmission": "scoring:ScoredSubmission",
        "check_submission": "scoring:check_submission",
        "score_submission": "scoring:score_submission",
        "Board": "board:Board",
        "BoardRow": "board:BoardRow",
        "board": "board:board",
        "verify": "verifying:verify",
        "Verification": "verifying:Verification",
        "Verified": "verifying:Verified",
    },
)
