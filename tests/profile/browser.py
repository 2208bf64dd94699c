# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, driven over the DevTools protocol's pipe. CHROMIUM names another program."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
LIMIT_S = 60


class Browser:
    """One page. What it complains of is in `complaints`; that it asks for an address that does not begin with one of `own`, too."""

    def __init__(self, own=("file:", "about:"), size="1100,560"):
        self.own = own
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()

        def numbers():  # Chromium reads 3 and writes 4
            a, b = os.dup(to_read), os.dup(from_write)
            a, b = (os.dup(x) if x in (3, 4) else x for x in (a, b))
            os.dup2(a, 3)
            os.dup2(b, 4)
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + self.home.name,
             "--no-first-run", "--window-size=" + size, "about:blank"],
            pass_fds=(3, 4), preexec_fn=numbers, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.held, self.count, self.complaints, self.session, self.events = b"", 0, [], None, []
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def message(self):
        while b"\0" not in self.held:
            part = os.read(self.back, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self.held += part
        one, self.held = self.held.split(b"\0", 1)
        m = json.loads(one)
        method, p = m.get("method"), m.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(p["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.complaints.append(p["args"])
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.complaints.append(p["entry"])
        elif method == "Network.requestWillBeSent" and not p["request"]["url"].startswith(self.own):
            self.complaints.append(p["request"]["url"])
        return m

    def ask(self, method, **params):
        self.count += 1
        m = {"id": self.count, "method": method, "params": params}
        if self.session:
            m["sessionId"] = self.session
        os.write(self.to, json.dumps(m).encode() + b"\0")
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            answer = self.message()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer.get("method"))
        raise RuntimeError(method + ": no answer")

    def open(self, path):
        """Seconds until the page is loaded and drawn: of a file, or of an address."""
        self.events = []
        begin = time.monotonic()
        self.ask("Page.navigate", url=path if "://" in path else "file://" + os.path.abspath(path))
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.message().get("method"))
        self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")
        return time.monotonic() - begin

    def value(self, expression):
        r = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise RuntimeError("%s: %s" % (expression, r["exceptionDetails"]))
        return r["result"].get("value")

    def key(self, key):
        code = {"Tab": 9, "Enter": 13}.get(key)
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        more = {"windowsVirtualKeyCode": code} if code else {}
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "", **more)

    def click(self, selector, text):
        """On the middle of the element of that text, as a mouse does."""
        at = self.value("(() => { const e = [...document.querySelectorAll(%s)].find(e => e.textContent.startsWith(%s));"
                        "e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
                        "return [b.left + b.width / 2, b.top + b.height / 2]; })()" % (json.dumps(selector), json.dumps(text)))
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def picture(self, path):
        data = base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
        with open(path, "wb") as f:
            f.write(data)
        return len(data)

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(20)
        os.close(self.to)
        os.close(self.back)
        self.home.cleanup()
