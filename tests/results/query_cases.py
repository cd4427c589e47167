"""Cases of the language of conditions, for Python and for the page."""

from mapgauge.results.query import FrameColumn

TABLE = {
    "pld": FrameColumn("number", [0.9, 0.5, None, 0.7]),
    "missed": FrameColumn("count", [3, 0, 1, 2]),
    "truth": FrameColumn("count", [3, 5, 1, 2]),
    "city": FrameColumn("text", ["boston", None, "miami", "it's"]),
    "night": FrameColumn("flag", [True, False, None, True]),
    "time of day": FrameColumn("text", ["a", "b", "c", "d"]),
}
CLASSES = ["divider"]
OF_CLASS = {
    "pld.divider": FrameColumn("number", [0.6, 0.8, None, 0.5]),
    "missed.divider": FrameColumn("count", [0, 0, 1, 2]),
}

# Conditions, and the frames that they hold for.
HOLD = [
    ("pld > 0.6", [0, 3]),
    ("pld != 0.9", [1, 3]),  # a value that does not exist fails
    ("pld = none", [2]),
    ("pld != none and city != none", [0, 3]),
    ("not pld > 0.6", [1, 2]),
    ("missed = truth", [0, 2, 3]),
    ("missed == 2 or missed = 0", [1, 3]),
    ("missed > 0 and pld > 0.6 or city = 'miami'", [0, 2, 3]),
    ("missed > 0 and (pld > 0.8 or city = 'miami')", [0, 2]),
    ("city in ('boston', 'it''s')", [0, 3]),
    ("city in ('boston', none)", [0, 1]),
    ("night", [0, 3]),
    ("NOT night", [1, 2]),
    ("night = false", [1]),
    ("\"time of day\" = 'b'", [1]),
    ("pld <= .7 AND missed >= 1e0", [3]),
    ("city != 'boston'", [2, 3]),
    ("pld in (0.5, 0.7, none)", [1, 2, 3]),
    ("night != none", [0, 1, 3]),
    ("night = TRUE", [0, 3]),
    ("not not night and not (missed < 3)", [0]),
    ("pld.divider > 0.6", [1]),
    ("missed.divider = 1", [2]),
    ("pld > -1", [0, 1, 3]),
    ("pld > 5.e-1 and pld < +.75e0", [3]),
    ("pld < " + "9" * 300 + ".", [0, 1, 3]),
]

# Conditions with an error, its place and its message.
ERRORS = [
    ("", 0, "expected the name of a column, got the end"),
    ("pld", 0, "pld is a number: compare it with a value"),
    ("pld >", 5, "expected a value, got the end"),
    ("pld > 0.8 and", 13, "expected the name of a column, got the end"),
    ("pld > 0.8 & missed > 2", 10, "unexpected '&'"),
    ("pld > 0.8 missed > 2", 10, "expected and, or, or the end, got 'missed'"),
    ("city = 'boston", 7, "this quote is not closed"),
    ("(pld > 0.8", 0, "expected ) for this parenthesis, got the end"),
    ("pld > 0.8 and mised > 2", 14, "no column 'mised'; did you mean missed?"),
    ("pld > 0.8 and mised.divider > 2", 14, "no column 'mised.divider'; did you mean missed.divider?"),
    ("missed.dividr > 2", 0, "no class 'dividr'; there are divider"),
    ("pld > 'a'", 6, "pld is a number, got 'a'"),
    ("missed > 0.3", 9, "missed is a whole number, got 0.3. The part of PLD is pld_missed"),
    ("city > 'a'", 5, "city is text: it takes =, != and in, got >"),
    ("city = 3", 7, "city is text, got '3'. Text has quotes: city = '3'"),
    ("city = pld", 7, "pld is a number, and city is text"),
    ("night = 1", 8, "night is true or false, got '1'"),
    ("pld < none", 4, "none takes =, != and in, got <"),
    ("pld in 3", 7, "expected ( and values, got '3'"),
    ("pld in (3 4)", 10, "expected , or ), got '4'"),
    ("pld > 3x", 6, "3x is not a number. Put text in quotes: '3x'"),
    ('"pld > 1', 0, "this quote is not closed"),
    ("xyz > 1", 0, "no column 'xyz'; there are pld, missed, truth, city, night, time of day"),
    ("Pld > 1", 0, "no column 'Pld'; did you mean pld?"),
    ("truht > 1", 0, "no column 'truht'; did you mean truth?"),
    ("missed.divider > 0.5", 17, "missed.divider is a whole number, got 0.5. The part of PLD is pld_missed.divider"),
    ("truth > 0.5", 8, "truth is a whole number, got 0.5"),
    ("night > true", 6, "night is true or false: it takes =, != and in, got >"),
    ("pld > 1 and (missed > 2 or )", 27, "expected the name of a column, got ')'"),
    ("not", 3, "expected the name of a column, got the end"),
    ("pld in ()", 8, "expected a value, got ')'"),
    ("city = boston", 7, "no column 'boston'; there are pld, missed, truth, city, night, time of day"),
    ("pld = night", 6, "night is true or false, and pld is a number"),
    ("'a' = city", 0, "expected the name of a column, got 'a'"),
    ("pld > " + "9" * 9000 + "x", 6, "unexpected '9'"),
    ("pld > 1." + "9" * 9000 + "e", 6, "unexpected '1'"),
    ("pld > 1e" + "9" * 9000 + ".", 6, "unexpected '1'"),
    ("pld > 1.2.3", 6, "1.2.3 is not a number. Put text in quotes: '1.2.3'"),
    ("city = 7fab", 7, "7fab is not a number. Put text in quotes: '7fab'"),
    ("(" * 60 + "pld > 1" + ")" * 60, 51, "too many parentheses"),
]

# A condition that is too long, and its message.
TOO_LONG = ("pld > " + "9" * 60_000, "a condition has at most 10,000 characters, got 60,006")
