"""Which types a stored row must hold to be handed out. SQLite would keep anything in any column."""

from typing import Final

from .connection import Row

Types = frozenset[type]

_WHOLE: Types = frozenset({int})
_TEXT: Types = frozenset({str})
_KEY: Types = frozenset({int, str, type(None)})
_WHOLE_OR_NONE: Types = frozenset({int, type(None)})
_TEXT_OR_NONE: Types = frozenset({str, type(None)})
_DUE_TYPES: Final = (
    *(_WHOLE, _WHOLE, _WHOLE, _WHOLE_OR_NONE, _TEXT, _KEY, _TEXT_OR_NONE, _TEXT, _WHOLE_OR_NONE),
    *(_WHOLE, _WHOLE, _WHOLE, _TEXT, _TEXT, _WHOLE_OR_NONE, _TEXT, _WHOLE_OR_NONE, _WHOLE_OR_NONE),
    *(_TEXT_OR_NONE, _WHOLE_OR_NONE, _WHOLE_OR_NONE, _WHOLE_OR_NONE),
)
_ORDER_TYPES: Final = (
    *(_WHOLE, _WHOLE, _TEXT, _TEXT, _KEY, _KEY, _KEY, _TEXT, _TEXT_OR_NONE),
    *(_WHOLE, _WHOLE, _WHOLE, _TEXT, _WHOLE, _WHOLE_OR_NONE),
)
_CLAIMED_TYPES: Final = (
    *(_WHOLE, _WHOLE, _TEXT, _TEXT, _KEY, _TEXT, _WHOLE, _WHOLE_OR_NONE, _WHOLE, _WHOLE, _WHOLE),
    *(_TEXT_OR_NONE, _TEXT, _WHOLE_OR_NONE, _WHOLE, _WHOLE),
    *(_TEXT, _TEXT_OR_NONE, _WHOLE_OR_NONE, _WHOLE_OR_NONE),
)
_ZONED_TYPES: Final = (
    *(_WHOLE, _TEXT, _WHOLE, _WHOLE_OR_NONE, _WHOLE_OR_NONE, _WHOLE, _TEXT_OR_NONE, _TEXT, _TEXT_OR_NONE),
)
_PAUSE_TYPES: Final = (_TEXT, _KEY, _WHOLE, _WHOLE_OR_NONE, _TEXT, _TEXT_OR_NONE)
_OUTAGE_TYPES: Final = (_WHOLE, _WHOLE, _TEXT)


class Shape:
    """Whether rows hold the types that their fields promise. Most rows look like one seen before."""

    def __init__(self, types: tuple[Types, ...]) -> None:
        self._types = types
        self._known: set[tuple[type, ...]] = set()

    def fits(self, row: Row, garbled: bool) -> bool:
        """`garbled`: some text of these rows was no UTF-8, so every text is looked at."""
        if garbled and not all(type(value) is not str or is_utf8(value) for value in row):
            return False
        shape = tuple(map(type, row))
        if shape in self._known:
            return True
        if len(shape) != len(self._types) or not all(map(frozenset.__contains__, self._types, shape)):
            return False
        self._known.add(shape)
        return True


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


DUE_SHAPE: Final = Shape(_DUE_TYPES)
ORDER_SHAPE: Final = Shape(_ORDER_TYPES)
CLAIMED_SHAPE: Final = Shape(_CLAIMED_TYPES)
ZONED_SHAPE: Final = Shape(_ZONED_TYPES)
PAUSE_SHAPE: Final = Shape(_PAUSE_TYPES)
OUTAGE_SHAPE: Final = Shape(_OUTAGE_TYPES)
