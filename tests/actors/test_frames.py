"""What travels on a socket is signed, and nothing that is not is unpickled."""

import logging
import pickle
from pathlib import Path

import pytest

from bellringer.actors.frames import SIGNATURE_LENGTH, ForeignFrameError, KeyRing

PORT = 4_711
KEY, OTHER_KEY = b"k" * 32, b"o" * 32


class Opens:
    """A pickle that creates a file when it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self._path), "w")


def ring(**keys: bytes) -> KeyRing:
    made = KeyRing()
    made.hold(PORT, keys.get("key", KEY))
    return made


def test_a_sealed_message_is_read_with_the_same_key() -> None:
    assert ring().open(ring().seal(PORT, ("hello", 42))) == ("hello", 42)


def test_a_frame_sealed_with_another_key_is_refused() -> None:
    with pytest.raises(ForeignFrameError):
        ring().open(ring(key=OTHER_KEY).seal(PORT, "hello"))


def test_an_unsigned_pickle_is_refused_and_not_executed(tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    with pytest.raises(ForeignFrameError):
        ring().open(pickle.dumps(Opens(evil)))
    assert not evil.exists()


def test_a_signed_frame_with_one_bit_changed_is_refused_at_every_byte() -> None:
    frame = ring().seal(PORT, "hello")
    for place in range(len(frame)):
        changed = bytearray(frame)
        changed[place] ^= 1
        with pytest.raises(ForeignFrameError):
            ring().open(bytes(changed))


@pytest.mark.parametrize("length", [0, 1, SIGNATURE_LENGTH - 1, SIGNATURE_LENGTH, SIGNATURE_LENGTH + 1])
def test_a_frame_that_was_cut_short_is_refused(length: int) -> None:
    with pytest.raises(ForeignFrameError):
        ring().open(ring().seal(PORT, "hello")[:length])


def test_a_process_with_two_systems_reads_the_frames_of_both() -> None:
    both = ring()
    both.hold(PORT + 1, OTHER_KEY)
    assert both.open(ring().seal(PORT, "first")) == "first"
    assert both.open(ring(key=OTHER_KEY).seal(PORT, "second")) == "second"


def test_a_frame_is_sealed_with_the_key_of_the_system_that_it_goes_to() -> None:
    both = ring()
    both.hold(PORT + 1, OTHER_KEY)
    with pytest.raises(ForeignFrameError):
        ring().open(both.seal(PORT + 1, "second"))


def test_nothing_is_sent_to_a_system_whose_key_is_not_held() -> None:
    dropped = ring()
    dropped.drop(PORT)
    with pytest.raises(ForeignFrameError, match="no key for the system on port 4711"):
        dropped.seal(PORT, "hello")


def test_only_the_constant_frames_that_were_named_are_taken_unsigned() -> None:
    keys = ring()
    keys.accept_unsigned("ACK")
    assert keys.open(pickle.dumps("ACK")) == "ACK"
    with pytest.raises(ForeignFrameError):
        keys.open(pickle.dumps("NAK"))


def test_the_first_refusal_of_a_process_is_logged_and_all_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    keys = ring()
    with caplog.at_level(logging.WARNING, "bellringer.frames"):
        for _ in range(3):
            with pytest.raises(ForeignFrameError):
                keys.open(b"x" * 100)
    assert [record.getMessage() for record in caplog.records] == [
        "refused an unsigned or foreign frame of 100 bytes; later ones are only counted"
    ]
    assert keys.refused == 3


def test_no_refusal_tells_a_key() -> None:
    with pytest.raises(ForeignFrameError) as told:
        ring().open(b"x" * 100)
    assert KEY.hex() not in str(told.value)
    assert repr(KEY) not in repr(told.value)
    assert repr(KEY) not in repr(ring())
