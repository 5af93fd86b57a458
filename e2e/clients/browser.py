"""A headless browser, controlled by its debugging protocol (Chromium, standard library only)."""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        program = shutil.which("chromium") or "chromium"
        # The sandbox doesn't work as root; the browser only loads our own page.
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--remote-debugging-port=0", f"--user-data-dir={self.folder}"]
        self.process = subprocess.Popen([program, *flags, "about:blank"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.folder})
        note = os.path.join(self.folder, "DevToolsActivePort")
        wait("the browser to start", lambda: os.path.exists(note) and open(note).read().count("\n") >= 1, 60)
        port = int(open(note).readline())
        [page] = [one for one in json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
                  if one["type"] == "page"]
        self.socket = Socket(page["webSocketDebuggerUrl"])
        self.number = 0
        self.dialogs = []
        for domain in ("Page", "Runtime", "Network"):
            self.do(f"{domain}.enable")

    def do(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("method") == "Page.javascriptDialogOpening":
                self.dialogs.append(message["params"]["message"])
                self.number += 1
                dismiss = {"id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
                self.socket.send(json.dumps(dismiss))
                self.number += 1
                continue
            if message.get("id") in (self.number, self.number - 2) and "result" in message:
                return message["result"]
            if "error" in message:
                raise RuntimeError(message["error"])

    def go(self, url):
        self.do("Page.navigate", url=url)

    def eval(self, script):
        result = self.do("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def text(self):
        return self.eval("document.body ? document.body.innerText : ''") or ""

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


def wait(what, good, seconds=30):
    end = time.monotonic() + seconds
    while True:
        found = good()
        if found:
            return found
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.1)


class Socket:
    """The part of RFC 6455 that a debugger needs."""

    def __init__(self, url):
        host, _, path = url.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.socket = socket.create_connection((name, int(port)), 60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(head.decode())

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else (
            bytes([0x80 | 126]) + struct.pack(">H", size) if size < 65536 else bytes([0x80 | 127]) + struct.pack(">Q", size))
        self.socket.sendall(b"\x81" + length + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        whole = b""
        while True:
            first, second = self.exactly(2)
            size = second & 127
            if size == 126:
                [size] = struct.unpack(">H", self.exactly(2))
            elif size == 127:
                [size] = struct.unpack(">Q", self.exactly(8))
            data = self.exactly(size)
            if first & 15 in (0, 1):
                whole += data
                if first & 128:
                    return whole.decode()

    def exactly(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise RuntimeError("the browser is gone")
            data += part
        return data
