"""What the tests of phrases share: it is Wednesday 2026-07-01, 12:00 in Berlin."""

from datetime import UTC, datetime

BERLIN = "Europe/Berlin"


def us(text: str) -> int:
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp()) * 1_000_000


NOW = us("2026-07-01T12:00:00+02:00")
