"""A page in headless Chromium, through its DevTools pipe: no port, no driver, no network."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

import program

# Debian's name comes first.
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One page; `problems` are its console errors, exceptions and requests that leave the file."""

    def __init__(self, width=1180, height=900):
        if CHROMIUM is None:
            program.need("chromium")
        self.problems, self.requests = [], []
        self._profile = tempfile.TemporaryDirectory(prefix="reprise_chromium_", ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                 f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}",
                 "--remote-debugging-pipe", "about:blank"]
        # The protocol is spoken on descriptors 3 and 4.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", CHROMIUM, *flags],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session = b"", 0, None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(30)
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def _message(self, deadline):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise RuntimeError(f"Chromium ended: {self._process.poll()}")
            self._buffer += piece
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(str([arg.get("description", arg.get("value")) for arg in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {params['message']}")

    def _call(self, method, **params):
        self._number += 1
        request = {"id": self._number, "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._write, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + 90
        while True:
            message = self._message(deadline)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message.get("result", {})
            self._note(message)

    def open(self, path, fragment=""):
        return self.open_url(f"file://{path}{fragment}")

    def open_url(self, url):
        """Seconds until the page says that it is ready."""
        began = time.monotonic()
        # Another fragment alone would not load the page again.
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=url)
        while self.evaluate("document.documentElement?.dataset.ready") != "true":
            if time.monotonic() - began > 60:
                raise TimeoutError(f"{url} is not ready: {self.problems}")
            time.sleep(0.05)
        return time.monotonic() - began

    def evaluate(self, expression):
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression):
        """Its value, as soon as that is true: what the page does after the call that caused it."""
        found = []
        program.wait_until(lambda: found.append(self.evaluate(expression)) or found[-1], expression, within_s=60)
        return found[-1]

    def emulate(self, theme="light", media="screen"):
        self._call("Emulation.setEmulatedMedia", media=media,
                   features=[{"name": "prefers-color-scheme", "value": theme}])
        # The page hears of it with the next frame.
        self._call("Runtime.evaluate", awaitPromise=True, expression="new Promise((heard) => "
                   "requestAnimationFrame(() => requestAnimationFrame(heard)))")

    def resize(self, width, height=800):
        """As on a device of this size; a window cannot be as narrow as a phone."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=True)

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 and kind == "keyDown" else "")

    def drag(self, x0, y0, x1, y1):
        for kind, x, y in (("mousePressed", x0, y0), ("mouseMoved", x1, y1), ("mouseReleased", x1, y1)):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def screenshot(self, path, whole=True):
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def pdf(self):
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True)["data"])
