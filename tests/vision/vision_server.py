"""A file server on 127.0.0.1 that can be told to break off, to lie, and to refuse ranges."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer:
    """Serves `files` ({name: bytes}); ``url`` ends in a slash; ``requests`` lists (name, Range header) of each request.

    ``cut[name]`` is the list of the numbers of bytes after which the next answers for that name break off.
    """

    def __init__(self, files, ranges=True, versions=True):
        self.files, self.ranges, self.versions = dict(files), ranges, versions
        self.cut, self.requests = {}, []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                owner.answer(self)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, handler):
        name, wanted = handler.path.lstrip("/"), handler.headers.get("Range")
        self.requests.append((name, wanted))
        data = self.files.get(name)
        if data is None:
            handler.send_error(404)
            return
        version = f'"{hash(data):x}"'
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and self.ranges else 0
        if handler.headers.get("If-Range", version) != version:
            start = 0
        if start and start >= len(data):
            handler.send_error(416)
            return
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        if self.versions:
            handler.send_header("ETag", version)
        handler.send_header("Content-Length", str(len(data) - start))
        handler.end_headers()
        cuts = self.cut.get(name)
        handler.wfile.write(data[start : start + cuts.pop(0)] if cuts else data[start:])
