"""The first member of a ZIP archive, which is read without the rest of the file."""

import io
import struct
import zlib

from mapgauge.io.files.source import ZIP, Content

# 4.3.7 of the ZIP specification (PKWARE's APPNOTE.TXT): signature, version, flags, method, time, date, checksum, sizes
# of the packed and the unpacked data, of the name and of an extra field.
_HEADER = struct.Struct("<4s5H3L2H")
_STORED = 0
_DEFLATED = 8


def first_member(content: Content, name: str, most: int) -> bytes | None:
    """Return the data of the first member of an archive; None if the member has another name.

    Only the beginning of the file is read, and no more than ``most`` bytes. Raises ``ValueError`` for what is no
    archive, for larger and for damaged members.
    """
    with content.path.open("rb") as file:
        head = file.read(_HEADER.size)
        if not head.startswith(ZIP) or len(head) < _HEADER.size:
            raise ValueError("it is no archive")
        _, _, _, method, _, _, checksum, packed_size, size, name_size, extra_size = _HEADER.unpack(head)
        if file.read(name_size) != name.encode():
            return None
        if max(packed_size, size) > most:
            raise ValueError(f"{name} has {max(packed_size, size)} bytes, expected at most {most}")
        file.seek(extra_size, io.SEEK_CUR)
        packed = file.read(packed_size)
    if method == _STORED:
        data = packed
    elif method == _DEFLATED:
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, max(size, 1))
    else:
        raise ValueError(f"{name} is compressed in an unknown way")
    if len(data) != size or zlib.crc32(data) != checksum:
        raise ValueError(f"{name} is damaged")
    return data
