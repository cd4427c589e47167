"""What results say about their evaluation beside its numbers: a date, a digest, and what the user notes."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mapgauge.errors import InvalidInput, Remedy

DATE = "date"  # the key that gives another date than that of the evaluation
# What authors should do with the digest of the truth.
DIGEST_ADVICE = "Print it with your values: who has the same truth can then check them"
_MOST_KEYS = 50
_LONGEST = 500  # characters of a value
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,49}")
_EPOCH = "SOURCE_DATE_EPOCH"  # see https://reproducible-builds.org/specs/source-date-epoch
_FORM = "%Y-%m-%dT%H:%M:%SZ"


def checked_metadata(given: Mapping[str, object] | None) -> tuple[str, dict[str, str]]:
    """Return the date of an evaluation that begins now, and its metadata as text; refuse what tables cannot show.

    >>> checked_metadata({"commit": "4f2a", "epoch": 12, "date": "2026-11-03"})
    ('2026-11-03T00:00:00Z', {'commit': '4f2a', 'epoch': '12'})
    """
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInput(
            f"metadata must be a mapping from names to values, got {type(given).__name__}",
            remedy='For example: metadata={"commit": "4f2a"}',
        )
    noted = dict(given or {})
    if len(noted) > _MOST_KEYS:
        raise InvalidInput(f"metadata may have {_MOST_KEYS} keys at most, got {len(noted)}")
    found = {}
    for key, value in noted.items():
        _check_key(key)
        found[str(key)] = _text_of(key, value)
    date = found.pop(DATE, None)
    if date is None:
        return _now(), found
    return date_from(date), found


def _check_key(key: object) -> None:
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InvalidInput(
            f"a key of metadata has 1 to 50 letters, digits and _.- and begins with a letter, got {str(key)!r:.80}"
        )


def _text_of(key: object, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidInput(f"the metadata {key} must be text or a number, got {type(value).__name__}")
    try:
        text = str(value)
    except ValueError:  # a whole number of thousands of digits
        text = hex(int(value))
    if len(text) > _LONGEST or not text.isprintable():
        raise InvalidInput(
            f"the metadata {key} must be one line of at most {_LONGEST} printable characters, got {text!r:.80}"
        )
    return text


def date_from(text: str) -> str:
    """Return a day or a time of ISO 8601 as results store it, in UTC. Without a time zone, it is in UTC already.

    >>> date_from("2026-11-03T08:30+01:00")
    '2026-11-03T07:30:00Z'
    """
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        return time.astimezone(UTC).strftime(_FORM)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"the date must be a day or a time of ISO 8601, such as 2026-11-03 or 2026-11-03T08:30Z, got {text!r:.80}"
        ) from error


def _now() -> str:
    """Return the time in UTC, or that of the environment variable SOURCE_DATE_EPOCH, in seconds since 1970."""
    fixed = os.environ.get(_EPOCH)
    if not fixed:
        return datetime.now(UTC).strftime(_FORM)
    try:
        return datetime.fromtimestamp(int(fixed), UTC).strftime(_FORM)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(
            f"the environment variable {_EPOCH} must be a whole number of seconds since 1970, got {fixed!r:.80}",
            remedy=Remedy("Correct it, or delete it from os.environ", f"Correct it, or remove it: unset {_EPOCH}"),
        ) from error


def digest_of(document: Any) -> str:
    """Return the SHA-256 of plain values.

    >>> digest_of({"a": 1, "b": (2,)}) == digest_of({"b": [2], "a": 1})
    True
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
