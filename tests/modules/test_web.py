"""uri and get_url against a small server of our own."""

from __future__ import annotations

import base64
import gzip
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.modules.steps import Steps, converge, shown

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="modules act as root")


class Handler(BaseHTTPRequestHandler):
    """Says what it was asked."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _say(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        counts = self.server.counts  # type: ignore[attr-defined]
        counts[self.path] = counts.get(self.path, 0) + 1
        if self.path == "/moved":
            self._say(302, Location="/echo")
        elif self.path == "/private" and self.headers.get("Authorization") != "Basic " + base64.b64encode(b"ada:pw").decode():
            self._say(401, b"no", WWW_Authenticate='Basic realm="x"')
        elif self.path == "/packed":
            self._say(200, gzip.compress(b"plain"), Content_Encoding="gzip")
        elif self.path == "/file":
            if self.headers.get("If-Modified-Since"):
                self._say(304)
            else:
                self._say(200, b"content\n", Content_Type="application/octet-stream")
        elif self.path == "/broken":
            self._say(500, b"oops")
        else:
            said = {"method": self.command, "path": self.path, "body": body.decode("latin-1"), "headers": dict(self.headers)}
            self._say(200, json.dumps(said).encode(), Content_Type="application/json; charset=utf-8")

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the names are the library's


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.counts = {}  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def address(server: ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


def ask(server: ThreadingHTTPServer, path: str, mode: str = "apply", **params: Any) -> dict[str, Any]:
    return Steps(mode).run("uri", {"url": address(server, path), **params})


def test_a_question_changes_nothing_and_is_asked_in_a_plan_too(server: ThreadingHTTPServer) -> None:
    for mode in ("plan", "apply"):
        reply = ask(server, "/echo?x=1", mode, headers={"X-Word": "hello"})
        result = reply["result"]
        assert (result["status"], result["changed"], reply["changes"]) == (200, False, [])
        assert result["json"]["path"] == "/echo?x=1"
        assert result["json"]["headers"]["X-Word"] == "hello"
        assert result["content_type"] == "application/json; charset=utf-8"
        assert "content" not in result
    assert "content" in ask(server, "/echo", return_content=True)["result"]


def test_what_alters_the_server_is_not_sent_by_a_plan(server: ThreadingHTTPServer) -> None:
    before = dict(server.counts)  # type: ignore[attr-defined]
    planned = ask(server, "/things", "plan", method="POST", body={"a": 1}, body_format="json")
    assert server.counts == before  # type: ignore[attr-defined]
    assert planned["unknown"]
    made = ask(server, "/things", method="POST", body={"a": 1}, body_format="json")
    assert made["result"]["json"]["body"] == '{"a": 1}'
    assert made["result"]["json"]["headers"]["Content-Type"] == "application/json"
    assert not made["result"]["changed"]


def test_forms(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    sent = ask(server, "/form", method="POST", body={"a": "1 2", "b": ["x", "y"]}, body_format="form-urlencoded")["result"]["json"]
    assert sent["body"] == "a=1+2&b=x&b=y"
    (tmp_path / "up.txt").write_text("file text")
    body = {"note": "hello", "file": {"filename": str(tmp_path / "up.txt"), "mime_type": "text/plain"}}
    sent = ask(server, "/form", method="POST", body=body, body_format="form-multipart")["result"]["json"]
    assert 'name="note"\r\n' in sent["body"]
    assert 'name="file"; filename="up.txt"\r\nContent-Type: text/plain\r\n\r\nfile text' in sent["body"]


def test_status_redirections_and_passwords(server: ThreadingHTTPServer) -> None:
    failed = ask(server, "/broken")["result"]
    assert failed["failed"]
    assert failed["msg"] == "Status code was 500 and not [200]: Internal Server Error"
    assert failed["content"] == "oops"
    assert not ask(server, "/broken", status_code=[200, 500])["result"]["failed"]
    followed = ask(server, "/moved")["result"]
    assert (followed["redirected"], followed["url"]) == (True, address(server, "/echo"))
    assert ask(server, "/moved", follow_redirects="none", status_code=302)["result"]["status"] == 302
    assert ask(server, "/private", status_code=401)["result"]["status"] == 401
    assert ask(server, "/private", url_username="ada", url_password="pw")["result"]["status"] == 200
    assert ask(server, "/packed", return_content=True)["result"]["content"] == "plain"


def test_a_body_goes_into_a_file(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    params = {"url": address(server, "/file"), "dest": str(tmp_path / "got"), "mode": "0640"}
    made = converge("uri", params)
    assert shown(made) == [f"write_file {tmp_path}/got"]
    assert (tmp_path / "got").read_text() == "content\n"
    assert (tmp_path / "got").stat().st_mode & 0o777 == 0o640


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    failed = Steps().run("uri", {"url": "http://127.0.0.1:1/"})["result"]
    assert failed["failed"]
    assert failed["status"] == -1
    assert "Connection refused" in failed["msg"]


def test_get_url_fetches_and_asks_for_news(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    params = {"url": address(server, "/file"), "dest": str(tmp_path / "f"), "mode": "0644"}
    made = converge("get_url", params)
    assert made["result"]["msg"] == "OK (8 bytes)"
    assert made["result"]["status_code"] == 200
    assert Steps().run("get_url", params)["result"]["msg"] == "HTTP Error 304: Not Modified"
    assert Steps().run("get_url", {**params, "force": True})["result"]["msg"] == "OK (8 bytes)"
    for mode in ("plan", "apply"):
        failed = Steps(mode).run("get_url", {**params, "url": address(server, "/broken"), "dest": str(tmp_path / "g")})["result"]
        assert failed["failed"]
        assert "500 Internal Server Error" in failed["msg"]
    private = {**params, "url": address(server, "/private"), "dest": str(tmp_path / "p"), "url_username": "ada", "url_password": "pw"}
    assert "pw" not in json.dumps(Steps().run("get_url", private)["result"])
