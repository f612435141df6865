# SPDX-License-Identifier: LGPL-2.1-or-later
"""Chromium without a window, driven through its DevTools protocol over a pipe: no port is open, and no client library is needed."""
import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--hide-scrollbars",
         "--remote-debugging-pipe", "--force-color-profile=srgb", "--lang=en")
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, None), "Tab": ("Tab", 9, None), " ": ("Space", 32, " "), "ArrowDown": ("ArrowDown", 40, None),
        "ArrowUp": ("ArrowUp", 38, None), "ArrowLeft": ("ArrowLeft", 37, None), "ArrowRight": ("ArrowRight", 39, None), "Home": ("Home", 36, None), "End": ("End", 35, None)}


def program():
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="airlock-pages.")
        out_read, self.out = os.pipe()
        self.input, in_write = os.pipe()
        os.set_inheritable(out_read, True)
        os.set_inheritable(in_write, True)

        def arrange():  # Chromium reads commands from 3 and writes replies to 4
            a, b = os.dup(out_read), os.dup(in_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen([program(), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"], close_fds=False, preexec_fn=arrange,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (out_read, in_write):
            os.close(fd)
        self.numbers, self.buffer, self.events = itertools.count(1), b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.call("Browser.close", seconds=5)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.input)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                return None
            data = os.read(self.input, 1 << 20)
            assert data, "the browser has ended"
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, seconds=60, **params):
        number = next(self.numbers)
        request = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        until = time.monotonic() + seconds
        while message := self.read(until):
            if message.get("id") == number:
                assert "error" not in message, (method, message)
                return message["result"]
            if "method" in message:
                self.events.append(message)
        raise AssertionError(f"no reply to {method}")

    def page(self, address, *how):
        return Page(self, address, *how)


class Page:
    def __init__(self, browser, address, width=1280, height=840, dark=False):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.look(width, height, dark)
        self.call("Page.navigate", url=address)

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def look(self, width=1280, height=840, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def eval(self, expression):
        reply = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in reply, (expression, reply["exceptionDetails"])
        return reply["result"].get("value")

    def wait(self, expression, seconds=20):
        """Until the expression is true."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            value = self.eval(f"Boolean({expression})")
            if value:
                return
            time.sleep(0.03)
        raise AssertionError(f"never true: {expression}\n{self.text()[:3000]}")

    def text(self, selector="body"):
        return self.eval(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def wait_text(self, text, selector="body", seconds=20):
        try:
            self.wait(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').includes({json.dumps(text)})", seconds)
        except AssertionError:
            raise AssertionError(f"never saw {text!r} in {selector}: {self.text()[:3000]}") from None

    def click(self, selector, text=None):
        """A real click in the middle of the element; with text, of the first that has it."""
        find = f"[...document.querySelectorAll({json.dumps(selector)})].find((e) => e.innerText.includes({json.dumps(text or '')}) && e.checkVisibility())"
        self.wait(f"Boolean({find})")
        box = self.eval(f"(() => {{ const e = {find}; e.scrollIntoView({{block: 'nearest'}}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def press(self, *keys):
        for key in keys:
            code, number, text = KEYS.get(key, ("Key" + key.upper(), ord(key.upper()), key) if len(key) == 1 else (key, 0, None))
            more = {"text": text} if text else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code, windowsVirtualKeyCode=number, **more)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code, windowsVirtualKeyCode=number)

    def type(self, text):
        for c in text:
            self.press(c)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def requests(self):
        """Every address that the page has asked for."""
        return [e["params"]["request"]["url"] for e in self.browser.events if e.get("sessionId") == self.session and e["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """What the browser refused or a script threw."""
        texts = []
        for e in self.browser.events:
            if e.get("sessionId") != self.session:
                continue
            if e["method"] == "Runtime.exceptionThrown":
                texts.append(str(e["params"]["exceptionDetails"]))
            elif e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error":
                texts.append(e["params"]["entry"]["text"] + " " + e["params"]["entry"].get("url", ""))
        return texts
