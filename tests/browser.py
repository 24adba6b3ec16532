"""A headless Chromium that is told what to do through a pipe, in the DevTools protocol: no driver, no network."""

import base64
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]


class Browser:
    """One page in a browser of its own; use it in a `with` statement."""

    def __init__(self, chromium: str, profile: Path, options: Sequence[str] = ()) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The browser reads commands from its descriptor 3 and answers on 4.
        command = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "-", chromium, *FLAGS, *options]
        command += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, pass_fds=[to_read, to_write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self.console: list[str] = []
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            more = os.read(self._read, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self._left += more
        text, self._left = self._left.split(b"\0", 1)
        found: dict[str, Any] = json.loads(text)
        if found.get("method") == "Runtime.exceptionThrown":
            self.console.append(json.dumps(found["params"])[:400])
        return found

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Carries out a command of the protocol; its result."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        while (found := self._message()).get("id") != self._number:
            pass
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']}")
        result: dict[str, Any] = found["result"]
        return result

    def script(self, text: str) -> Any:
        """The value of an expression of JavaScript in the page; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:800])
        return found["result"].get("value")

    def show(self, address: str, width: int, height: int = 900) -> None:
        """Opens an address in a window of this size, and waits until every figure in sight is drawn."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=address)
        drawn = (
            "location.protocol !== 'about:' && document.readyState === 'complete' && [...document.querySelectorAll('.plot')]"
            ".every((plot) => plot.offsetParent === null || plot.querySelector('.main-svg'))"
        )
        self.script(f"new Promise((done) => {{ const look = () => {drawn} ? done(1) : setTimeout(look, 20); look(); }})")

    def pdf(self) -> bytes:
        """The page as it is printed on A4."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def picture(self, whole: bool = False) -> bytes:
        """What is seen, or the whole page, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])
