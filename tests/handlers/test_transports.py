"""Where messages go without a chat platform."""

import asyncio
import io
import threading

import pytest

from bellringer.handlers.transports import Transport
from bellringer.handlers.transports.console import ConsoleTransport
from bellringer.handlers.transports.recorded import RecordedTransport


class Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.flushed = 0

    def flush(self) -> None:
        self.flushed += 1
        super().flush()


def test_the_console_writes_a_line_flushes_it_and_counts_message_ids() -> None:
    terminal = Terminal()
    transport: Transport = ConsoleTransport(terminal)

    ids = [asyncio.run(transport.send(1, text)) for text in ("⏰ tea", "two")]

    assert terminal.getvalue() == "⏰ tea\ntwo\n"
    assert (ids, terminal.flushed) == ([1, 2], 2)


def test_the_console_notes_edits_and_deletions() -> None:
    terminal = Terminal()
    transport = ConsoleTransport(terminal)

    asyncio.run(transport.edit(1, 5, "new"))
    asyncio.run(transport.delete(1, 5))

    assert terminal.getvalue() == "(message 5 now reads) new\n(message 5 was deleted)\n"


def test_the_console_writes_to_standard_output_as_it_is_now(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(ConsoleTransport().send(1, "hello"))

    assert capsys.readouterr().out == "hello\n"


@pytest.mark.parametrize(("encoding", "written"), [("ascii", b"\\u23f0 \\ud83c\n"), ("utf-8", "⏰ \\ud83c\n".encode())])
def test_b65_the_console_writes_what_its_encoding_lacks_as_escapes(encoding: str, written: bytes) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="")

    asyncio.run(ConsoleTransport(stream).send(1, "⏰ \ud83c"))

    assert raw.getvalue() == written


def test_the_console_keeps_lines_whole_when_threads_write_at_once() -> None:
    terminal = Terminal()
    transport = ConsoleTransport(terminal)
    ids = []

    def write() -> None:
        for _ in range(50):
            ids.append(asyncio.run(transport.send(1, "x" * 100)))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert terminal.getvalue() == ("x" * 100 + "\n") * 200
    assert sorted(ids) == list(range(1, 201))


def test_the_recorded_transport_keeps_what_it_was_sent() -> None:
    transport = RecordedTransport()
    same: Transport = transport

    message_id = asyncio.run(same.send(1, "hello", thread_id=2, silent=True))
    asyncio.run(same.edit(1, 1, "new"))
    asyncio.run(same.delete(1, 1))
    asyncio.run(same.close())

    (sent,) = transport.sent
    assert (sent.chat_id, sent.text, sent.message_id, sent.thread_id) == (1, "hello", message_id, 2)
    assert (sent.options, transport.edited, transport.deleted) == ({"silent": True}, [(1, 1, "new")], [(1, 1)])
    assert transport.closed


def test_the_recorded_transport_fails_and_loses_as_often_as_it_was_told() -> None:
    transport = RecordedTransport()
    transport.fail_next(ConnectionError("down"), times=2)
    transport.lose_next()

    for _ in range(2):
        with pytest.raises(ConnectionError, match="down"):
            asyncio.run(transport.send(1, "a"))
    assert asyncio.run(transport.send(1, "b")) is None
    assert asyncio.run(transport.send(1, "c")) == 1
    assert transport.texts == ["c"]


def test_b59_the_console_writes_what_steers_a_terminal_as_escapes() -> None:
    stream = io.StringIO()

    asyncio.run(ConsoleTransport(stream).send(1, "a\x1b[2Jb\u202e\nsecond line\t👩\u200d🚀"))

    assert stream.getvalue() == "a\\x1b[2Jb\\u202e\nsecond line\t👩\u200d🚀\n"
