"""The grammar of FILE,KEY=VALUE."""

from collections.abc import Collection

import pytest

from mapgauge.cli.file_grammar import split, unquoted

PATHS = ("tracks", "scenes")


def parsed(text: str, files: Collection[str] = ()) -> tuple[str, list[str]]:
    name, items = split(text, paths=PATHS, exists=lambda called: called in files)
    return name, [item.letters for item in items]


@pytest.mark.parametrize(
    ("text", "name", "items"),
    [
        ("M.json", "M.json", []),
        ("", "", []),
        (",", ",", []),
        ("M.json,", "M.json,", []),
        ("M.json,planar", "M.json", ["planar"]),
        ("M.json,rotate=-90,planar", "M.json", ["rotate=-90", "planar"]),
        ("M.json,name=", "M.json", ["name="]),
        ("M.json,name=a=b", "M.json", ["name=a=b"]),
        ("runs/a,b=c/M.json,planar", "runs/a,b=c/M.json", ["planar"]),
        ("C:\\a,b=c\\M.json,planar", "C:\\a,b=c\\M.json", ["planar"]),
        ("s3://runs/v=1,x=2/M.parquet", "s3://runs/v=1,x=2/M.parquet", []),
        ("a,1.json,planar", "a,1.json", ["planar"]),
        ("M.json,name=A/B", "M.json,name=A/B", []),
    ],
)
def test_items_follow_the_name(text: str, name: str, items: list[str]) -> None:
    assert parsed(text) == (name, items)


def test_the_name_of_another_file_goes_on_to_the_next_item() -> None:
    text = "M.json,tracks=/data/a,b=c/x=1,y.pkl,planar,scenes=/s,1.json"
    assert parsed(text) == ("M.json", ["tracks=/data/a,b=c/x=1,y.pkl", "planar", "scenes=/s,1.json"])


def test_a_key_of_another_file_without_a_value_is_an_item() -> None:
    assert parsed("M.json,tracks") == ("M.json", ["tracks"])


def test_the_longest_name_that_exists_is_the_file() -> None:
    files = ("a", "a,planar", "b,name=x")
    assert parsed("a,planar", files) == ("a,planar", [])
    assert parsed("a,planar,certain", files) == ("a,planar", ["certain"])
    assert parsed("b,name=x,planar", files) == ("b,name=x", ["planar"])


def test_values_of_a_file_that_exists_may_have_slashes_and_commas() -> None:
    assert parsed("a,name=A/B, C/D,planar", ["a"]) == ("a", ["name=A/B, C/D", "planar"])
    assert parsed("a,planar,1/2", ["a"]) == ("a,planar,1/2", [])


def test_quotes_protect_commas_and_slashes_of_values_and_names() -> None:
    assert parsed('M.json,name="A, B/C",planar') == ("M.json", ["name=A, B/C", "planar"])
    assert parsed("'runs/a,planar.json',planar") == ("runs/a,planar.json", ["planar"])
    assert parsed('"a,b",name=x', ["a,b"]) == ("a,b", ["name=x"])


def test_quotes_protect_colons_of_a_part_of_a_value() -> None:
    before, colon, after = unquoted("\"a:b\":'c:d'").partition(":")
    assert (before.letters, colon, after.letters) == ("a:b", True, "c:d")
    before, colon, after = unquoted('"a:b":0.5').rpartition(":")
    assert (before.letters, colon, after.letters) == ("a:b", True, "0.5")


@pytest.mark.parametrize("text", ["O'Brien's.json", 'a"b"c', '"a', "'", "x'y'", "'x'y"])
def test_a_quote_that_is_not_around_a_part_is_a_letter(text: str) -> None:
    assert unquoted(text).letters == text


def test_letters_of_private_use_are_ordinary_letters() -> None:
    """Names can have any character."""
    assert parsed("\ue000M.json,name=\ue001") == ("\ue000M.json", ["name=\ue001"])


def test_a_partition_without_the_mark_keeps_the_text() -> None:
    text = unquoted("abc")
    assert [part.letters for part in text.partition(":")[::2]] == ["abc", ""]
    assert [part.letters for part in text.rpartition(":")[::2]] == ["", "abc"]
