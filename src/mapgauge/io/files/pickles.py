"""Safe unpickling: numpy arrays, numbers, text and plain containers are loaded, and no code runs.

A pickle is a program. It can name any function of any installed package and have it called. ``unpickle`` therefore
works in two steps:

1. ``kernels.pickle_scan`` walks over the opcodes. It refuses a file that is truncated or damaged, that would allocate
   far more memory than its own size, or that contains itself. Nothing has been loaded at that point.
2. The unpickler of the standard library loads the pickle. Every name in it is looked up in
   ``pickle_values.ADMITTED``, never in a module. The replacements in that table check their arguments, and a pickle
   cannot change them.

``OrderedDict`` and ``defaultdict`` become plain dictionaries, because looking up a missing key must not add it. Arrays
are instances of a read-only subclass; everything computed from them is a plain array.
"""

import io
import pickle
from typing import Any

import numpy as np

from mapgauge import kernels
from mapgauge.io.files.json_documents import MakeError, gc_paused
from mapgauge.io.files.pickle_values import ADMITTED, Refused

# The limit on the number of values, where a value counts each time it is used. A file that shares no values has at most
# two for each byte. Six thousand frames that share one list of 75 polylines have 46 million in 255 kB.
_LIMIT, _LIMIT_PER_BYTE = 1 << 20, 16
_SHARED, _SHARED_PER_BYTE = 1 << 26, 192
_DEEPEST = 100  # nested containers; the files of public projects have 10
# The limit on comparisons of keys whose hashes their writer could choose to be equal: half a second, and about a second
# for each megabyte. Ten thousand keys in one dictionary need 50 million.
_COMPARISONS, _COMPARISONS_PER_BYTE = 50_000_000, 64


def most_values(size: int) -> int:
    """Return the limit on the number of values in a pickle of a number of bytes."""
    return _LIMIT + _LIMIT_PER_BYTE * size + min(_SHARED, _SHARED_PER_BYTE * size)


def unpickle(data: bytes, error: MakeError) -> Any:
    """Return the value in a pickle.

    Args:
        data: The whole pickle.
        error: Creates the exception to raise.
    """
    _scan(data, error)
    # Buffered, so that the unpickler can look ahead; otherwise it asks for a few bytes at a time.
    file = io.BufferedReader(io.BytesIO(data), 1 << 20)
    try:
        with gc_paused():
            return _Unpickler(file).load()
    except Refused as refusal:
        raise error(str(refusal), remedy=refusal.remedy) from None
    except Exception as fault:  # a damaged pickle can raise any exception
        raise error(f"broken pickle: {str(fault)[:200] or type(fault).__name__}") from fault


class _Unpickler(pickle.Unpickler):
    """Looks names up in ``ADMITTED`` only."""

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full not in ADMITTED:
            raise _refused_name(module, full)
        return ADMITTED[full]


def _refused_name(module: str, full: str) -> Refused:
    """Return the error for a name that is not admitted."""
    shown = full.encode("unicode_escape").decode("ascii")
    shown = shown if len(shown) <= 100 else shown[:97] + "..."
    package = module.partition(".")[0]
    if package == "torch":
        return Refused(
            f"{shown}: the pickle holds torch tensors, which need torch to load",
            "Convert them with .cpu().numpy() before saving, or load the file with torch, convert and save it again",
        )
    remedies = {
        "pandas": "Save frame.to_dict('list') or frame.to_numpy() instead",
        "numpy": "Save plain arrays, as numpy.asarray makes them, instead",
        "networkx": "Load the graphs where they were made and save them as JSON: "
        "document = {token: mapgauge.Graph.of(graph).to_dict() for token, graph in graphs.items()}; "
        'json.dump(document, open("graphs.json", "w"))',
    }
    otherwise = "If you trust the file, load it where it was made and save plain dictionaries and lists instead"
    return Refused(
        f"{shown}: a pickle may hold numpy arrays, numbers, text and plain containers only. Nothing was run",
        remedies.get(package, otherwise),
    )


def _scan(data: bytes, error: MakeError) -> None:
    """Refuse a pickle that the unpickler must not load."""
    scan = kernels.pickle_scan
    size = len(data)
    limit = most_values(size)
    comparisons = _COMPARISONS + _COMPARISONS_PER_BYTE * size
    limits = (np.uint64(value) for value in (limit, _DEEPEST, comparisons))
    outcome, at = scan.scan(np.frombuffer(data, np.uint8), scan.opcode_table(), *limits)
    if outcome != scan.SOUND:
        message, remedy = _explained(outcome, data, int(at), limit)
        raise error(message, remedy=remedy)


def _explained(outcome: int, data: bytes, at: int, limit: int) -> tuple[str, str | None]:
    """Return the message and the remedy for a pickle that the scan refused at a byte."""
    scan = kernels.pickle_scan
    seen = f"(seen at byte {at})"
    if outcome == scan.ENDS:
        message = f"the pickle ends at byte {len(data)}, before its STOP"
        return message, "Check that it was written and copied completely"
    if outcome == scan.TRAILING:
        message = f"{len(data) - at} bytes follow the end of the pickle at byte {at}, expected a single pickle"
        return message, "torch.save in its old format writes several. Save plain numpy arrays with pickle.dump instead"
    if outcome == scan.REFUSED:
        name = scan.opcode_name(data[at])
        if name in ("DUP", "LONG4"):
            return f"broken pickle: unexpected {name} at byte {at}", None
        message = f"the pickle refers to objects outside of it ({name} at byte {at}), as pickles of torch.save do"
        return message, "Save plain numpy arrays with pickle.dump(document, file) and no further arguments instead"
    if outcome == scan.GROWS:
        return f"a value in the pickle contains itself {seen}, expected plain data", None
    if outcome == scan.HEAVY:
        return f"the pickle repeats its values until there are more than {limit} of them {seen}", None
    if outcome == scan.COLLIDES:
        message = f"the pickle has too many keys that are large whole numbers or tuples of numbers {seen}"
        return message, "Save texts or small whole numbers as keys instead"
    if outcome == scan.DEEP:
        return f"the pickle has more than {_DEEPEST} containers nested in each other {seen}", None
    if outcome == scan.UNKNOWN:
        return f"broken pickle: {data[at]:#04x} at byte {at} is not an opcode", None
    reasons = {
        scan.MISSING: "a value is fetched that was not stored",
        scan.INDEX: "a value is stored far beyond those before it",
        scan.AGAIN: "a value is stored twice",
        scan.UNDERFLOW: "a value is used that is not on the stack",
    }
    return f"broken pickle: {reasons[outcome]} at byte {at}", None
