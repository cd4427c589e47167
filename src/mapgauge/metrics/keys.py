"""Keys of values: one type for ``pld``, ``localisation@0.5``, ``pld:0-10m``, ``hits:ap_chamfer@1.0``."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ValueKey:
    """The key of a value: its name, and the setting or the ring at which it was computed.

    >>> str(ValueKey("localisation", setting=0.5)), str(ValueKey("pld", ring=(0.0, 10.0)))
    ('localisation@0.5', 'pld:0-10m')
    >>> ValueKey.parse("hits:ap_chamfer@1.0")
    ValueKey(name='ap_chamfer', setting='1.0', ring='', hits=True)
    """

    name: str  # the key of a ``Value``: "pld", "localisation", "ap_chamfer"
    setting: str = ""  # a cutoff or a threshold, in the notation of Python
    ring: str = ""  # "0-10m"
    hits: bool = False  # whether it is the number of true positives in a frame

    def __init__(
        self,
        name: str,
        setting: float | str | None = None,
        ring: tuple[float, float] | str | None = None,
        *,
        hits: bool = False,
    ) -> None:
        """Accept settings and rings as numbers or as text."""
        if isinstance(ring, tuple):
            ring = f"{ring[0]:g}-{ring[1]:g}m"
        values = {"name": name, "setting": "" if setting is None else str(setting), "ring": ring or "", "hits": hits}
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def __str__(self) -> str:
        """Return the key of ``Results.mean``, ``Results.frames`` and JSON."""
        text = f"hits:{self.name}" if self.hits else self.name
        text += f"@{self.setting}" if self.setting else ""
        return text + (f":{self.ring}" if self.ring else "")

    @classmethod
    def parse(cls, text: str) -> "ValueKey":
        """Parse a key."""
        hits = text.startswith("hits:")
        name, _, ring = text.removeprefix("hits:").partition(":")
        name, _, setting = name.partition("@")
        return cls(name, setting, ring, hits=hits)

    @property
    def plain(self) -> bool:
        """Whether it is a value without a setting and without a ring."""
        return not (self.setting or self.ring or self.hits)
