"""The controller's end against an agent that answers by script: what no real one would say."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from provisioner.errors import HostUnreachable
from provisioner.node import wire
from provisioner.ports import Reply, Step
from provisioner.transport.client import Client, Terms
from provisioner.transport.streams import Feeder
from provisioner.values import Unknown

HELLO = {"type": "hello", "version": wire.VERSION, "python": "3.11.2", "user": "root", "uid": 0, "hostname": "n", "pending": []}
REPLY = {"type": "reply", "id": 1, "result": {"failed": False}, "changes": [], "diffs": [], "seconds": 0.1}
DONE = {"type": "done", "id": 1, "ran": 1}


class Script:
    """A stream that gives prepared bytes, in pieces of any size, then stays silent or ends."""

    login = "ops"

    def __init__(self, *frames: bytes | dict[str, Any], piece: int = 1 << 20, ends: bool = False) -> None:
        self.left = b"".join(frame if isinstance(frame, bytes) else wire.pack(frame) for frame in frames)
        self.piece = piece
        self.ends = ends
        self.sent = b""
        self.dead = ""
        self.closed = 0

    def receive(self, timeout: float) -> tuple[bytes, bytes] | None:
        if self.left:
            now, self.left = self.left[: self.piece], self.left[self.piece :]
            return now, b"stderr of the agent\n"
        if self.ends or self.closed:
            return None
        time.sleep(min(timeout, 0.05))
        return b"", b""

    def send(self, data: memoryview, timeout: float) -> int:
        self.sent += data[:1000].tobytes()
        return min(len(data), 1000)

    def finish(self) -> None: ...

    def exit_code(self, timeout: float) -> int | None:
        return 9 if self.ends else None

    def interrupt(self) -> None: ...

    def trouble(self) -> str:
        return self.dead

    def close(self) -> None:
        self.closed += 1

    def messages(self) -> list[dict[str, Any]]:
        """What was sent, as headers."""
        rest = self.sent
        found = []

        def read(size: int) -> bytes:
            nonlocal rest
            taken, rest = rest[:size], rest[size:]
            return taken

        while rest:
            found.append(wire.read_frame(read)[0])
        return found


def client(script: Script, **terms: Any) -> Client:
    given = {"source_of": lambda module: {f"shipped.{module}": "x = 1"}, "who": "me", "silence": 0.5, **terms}
    return Client(Feeder(script), Terms(**given), b"")


def run(found: Client, *steps: Step, on_reply: Callable[[Reply], None] = lambda reply: None) -> int:
    return found.run(steps or [Step(1, "copy", {})], on_reply)


def failure(*frames: bytes | dict[str, Any], **options: Any) -> HostUnreachable:
    script = Script(HELLO, *frames, **options)
    found = client(script)
    with pytest.raises(HostUnreachable) as caught:
        run(found)
    assert script.closed
    with pytest.raises(HostUnreachable, match="the connection is closed"):
        run(found)
    return caught.value


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_frames_arrive_in_pieces_of_any_size(piece: int) -> None:
    replies: list[Reply] = []
    script = Script(HELLO, REPLY, DONE, piece=piece)
    assert run(client(script), on_reply=replies.append) == 1
    assert replies[0].id == 1


def test_code_goes_once_and_before_the_steps() -> None:
    script = Script(HELLO, REPLY, DONE, REPLY, DONE)
    found = client(script)
    run(found)
    run(found, Step(1, "copy", {}), Step(2, "apt", {}))
    sent = [(message["type"], sorted(message.get("files", ()))) for message in script.messages()]
    assert sent == [("code", ["shipped.copy"]), ("steps", []), ("code", ["shipped.apt"]), ("steps", [])]


def test_unknown_values_cross_both_ways() -> None:
    replies: list[Reply] = []
    reply = {**REPLY, "result": {"a": wire.Unknown("running x"), "b": [{"c": wire.Unknown("y")}], "d": '{"$unknown": "no"}'}}
    script = Script(HELLO, reply, DONE)
    run(client(script), Step(1, "copy", {"src": Unknown("installing z"), "list": (1, Unknown("w"))}), on_reply=replies.append)
    result = replies[0].result
    assert isinstance(result["a"], Unknown)
    assert result["a"].because == "running x"
    assert result["b"][0]["c"].because == "y"
    assert result["d"] == '{"$unknown": "no"}'
    params = script.messages()[1]["steps"][0]["params"]
    assert params == {"src": {"$unknown": "installing z"}, "list": [1, {"$unknown": "w"}]}


def test_noise_between_frames() -> None:
    error = failure(REPLY, b"Warning: something")
    assert error.message.startswith("the agent's stream broke while running copy: expected a frame, got b'Warn'")
    assert error.why == "stderr of the agent"


@pytest.mark.parametrize("header", [b"\xff\xfe", b"[1]", b"{", b""])
def test_headers_that_are_none(header: bytes) -> None:
    assert "stream broke" in failure(wire.HEAD.pack(wire.MAGIC, len(header), 0) + header).message


def test_a_frame_too_big_is_not_waited_for() -> None:
    assert "over the limit" in failure(wire.HEAD.pack(wire.MAGIC, 10, 1 << 31)).message


@pytest.mark.parametrize("cut", [1, 11, 30])
def test_the_stream_ends_inside_a_frame(cut: int) -> None:
    error = failure(wire.pack(REPLY)[:cut], ends=True)
    assert error.message == "the connection was lost while running copy"
    assert error.why == "the agent ended with exit code 9; stderr of the agent"


def test_an_answer_to_no_question() -> None:
    assert failure(HELLO).message == "the agent sent 'hello' while running copy"


def test_a_bug_says_that_it_is_ours() -> None:
    error = failure({"type": "bug", "trace": "Traceback\n  line\nKeyError: 'x'"})
    assert error.message == "the agent failed while running copy; this is a bug of provision: KeyError: 'x'"
    assert "Traceback" in error.why


def test_silence_is_given_up() -> None:
    assert failure().message == "the node does not answer since 0.5 s"


def test_a_batch_has_the_deadline_of_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provisioner.transport.client.GRACE", 0.1)
    found = client(Script(HELLO), silence=60.0)
    started = time.monotonic()
    with pytest.raises(HostUnreachable, match=r"does not answer since 0\.3 s while running copy"):
        run(found, Step(1, "copy", {}, timeout=0.1), Step(2, "copy", {}, timeout=0.1))
    assert time.monotonic() - started < 2


def test_a_dead_connection_is_named() -> None:
    script = Script(HELLO)
    found = client(script)
    script.dead = "the ssh connection was lost"
    with pytest.raises(HostUnreachable, match="the ssh connection was lost"):
        run(found)


def test_a_locked_node_names_the_holder() -> None:
    with pytest.raises(HostUnreachable, match="another run holds this node: ann@laptop"):
        client(Script({"type": "refused", "reason": "another run holds this node", "holder": "ann@laptop"}))


def test_no_steps_cost_nothing() -> None:
    script = Script(HELLO)
    assert client(script).run([], lambda reply: None) == 0
    assert script.sent == b""


def test_closing_twice_says_goodbye_once() -> None:
    script = Script(HELLO)
    found = client(script)
    found.close()
    found.close()
    assert [message["type"] for message in script.messages()] == ["bye"]
    assert script.closed == 1


def test_files_that_two_modules_share_go_once() -> None:
    sources = {"copy": {"n.copy": "1", "n.shared": "2"}, "file": {"n.file": "3", "n.shared": "2"}}
    script = Script(HELLO, REPLY, DONE, REPLY, DONE)
    found = client(script, source_of=sources.__getitem__)
    run(found)
    run(found, Step(1, "file", {}))
    assert [sorted(message["files"]) for message in script.messages() if message["type"] == "code"] == [["n.copy", "n.shared"], ["n.file"]]


def test_a_bug_is_heard_though_nobody_reads_any_more() -> None:
    script = Script(HELLO, {"type": "bug", "trace": "Traceback\nKeyError: 1"}, ends=True)
    found = client(script)

    def broken(data: memoryview, timeout: float) -> int:
        raise BrokenPipeError

    script.send = broken  # type: ignore[method-assign]
    with pytest.raises(HostUnreachable, match="this is a bug of provision: KeyError: 1"):
        run(found)
