"""What the measurement of public types says of a report of pyright. ``make public-types`` measures for real."""

from typing import Any

import pytest
from tools.public_types import LEAST, main, share, without_type


def symbol(name: str, *, known: bool = True, ambiguous: bool = False, exported: bool = True) -> dict[str, Any]:
    reasons = [{"message": f"{name} has no type\nmore"}] if not known or ambiguous else []
    return {
        "name": name,
        "isExported": exported,
        "isTypeKnown": known,
        "isTypeAmbiguous": ambiguous,
        "diagnostics": reasons,
    }


def report(score: float) -> dict[str, Any]:
    symbols = [
        symbol("known"),
        symbol("unknown", known=False),
        symbol("ambiguous", ambiguous=True),
        symbol("elsewhere", known=False, exported=False),
    ]
    return {"completenessScore": score, "symbols": symbols}


def test_names_without_a_known_type_are_listed_with_the_reason() -> None:
    assert list(without_type(report(0.5))) == ["unknown: unknown has no type", "ambiguous: ambiguous has no type"]
    assert share(report(0.5)) == 0.5


def test_a_share_that_is_too_low_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["public_types"])
    monkeypatch.setattr("tools.public_types.measured", lambda: report(LEAST))
    main()
    monkeypatch.setattr("tools.public_types.measured", lambda: report(LEAST - 0.001))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "expected at least 98%" in capsys.readouterr().out
