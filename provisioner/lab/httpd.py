"""A file server as a program of its own: ``python httpd.py FOLDER ADDRESS PORT``; imports nothing of ours, so that it stays small.

Says ``listening`` on its output once it can be asked, and nothing else: a log would grow with every apt update of every node.
"""

import functools
import http.server
import socket
import sys

_FREEBIND = 15
"""IP_FREEBIND of <linux/in.h>; Python's socket module has no name for it."""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of one folder, over connections that stay open, as apt likes them."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


class Server(http.server.ThreadingHTTPServer):
    """One thread a connection; none of them keeps the program alive."""

    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        """Bind also where the address comes later: an engine may make its bridge with the first container."""
        self.socket.setsockopt(socket.SOL_IP, _FREEBIND, 1)
        super().server_bind()


def serve(folder: str, address: str, port: int) -> None:
    """Serve until killed; OSError when the address cannot be used."""
    server = Server((address, port), functools.partial(Handler, directory=folder))
    print("listening", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
