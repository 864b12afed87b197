"""Opens pages in a headless Chromium and checks them: browser.py CHROMIUM SCREENSHOTS PAGE...

At 400 and 1600 pixels, in light and dark: no message on the console, nothing requested, no horizontal scrolling of the page, text
that stands out from its background. Each chart has a name for screen readers and a table; everything that can be operated is
reached with the tab key. Speaks the DevTools protocol through pipes.
"""

import base64
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

WIDTHS = (400, 1600)
SCHEMES = ("light", "dark")
# For all views of all pages, and for one answer of the browser.
SECONDS = 600
ANSWER_SECONDS = 60
# WCAG 2.2, 1.4.3.
CONTRAST = 4.5

# What the tab key is to reach, and what it has reached.
OPERABLE = "[...document.querySelectorAll('a, summary, [tabindex]')].filter(e => e.tagName === 'SUMMARY' || !e.closest('details:not([open])'))"
WATCH = "window.reached = new Set(); addEventListener('focusin', event => reached.add(event.target))"
REACHED = OPERABLE + ".filter(element => reached.has(element)).length"
# Whether a page is wider than its window; the contrast of each text with the colour of the page; what can be operated.
MEASURE = """(() => {
  const light = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number)
      .map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (!colour.endsWith(', 0)') && colour !== 'transparent') return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  let least = 99, of = '', smallest = 99;
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    const box = element.getBoundingClientRect();
    if (!own || !box.width || ['title', 'desc'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(paper(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least) { least = contrast; of = element.outerHTML.slice(0, 120); }
    const svg = element.ownerSVGElement;
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    smallest = Math.min(smallest, parseFloat(style.fontSize) * scale);
  }
  const operable = """ + OPERABLE + """;
  return JSON.stringify({
    overflow: document.documentElement.scrollWidth - innerWidth, contrast: least, of, smallest,
    paper: getComputedStyle(document.body).backgroundColor, operable: operable.length,
    charts: document.querySelectorAll('figure').length,
    shown: [...document.querySelectorAll('figure svg')].filter(e => e.getClientRects().length).length,
    tables: document.querySelectorAll('figure details table').length,
  });
})()"""


class Browser:
    """A Chromium and one page in it."""

    def __init__(self, program, folder):
        there, self.requests = os.pipe()
        self.replies, back = os.pipe()
        # The protocol's descriptors are 3 and 4.
        command = f'exec 3<&{there} 4>&{back}; exec "$@"'
        flags = ["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu",
                 "--no-first-run", "--disable-background-networking", f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(["timeout", str(SECONDS), "bash", "-c", command, "bash", program, *flags],
                                        pass_fds=(there, back), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(back)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(domain + ".enable")

    def message(self, awaited, deadline):
        while b"\0" not in self.rest:
            readable, _, _ = select.select([self.replies], [], [], max(0, deadline - time.monotonic()))
            if not readable:
                raise SystemExit(f"{awaited}: the browser does not answer within {ANSWER_SECONDS} s")
            more = os.read(self.replies, 1 << 20)
            if not more:
                raise SystemExit("the browser ended early")
            self.rest += more
        first, self.rest = self.rest.split(b"\0", 1)
        return json.loads(first)

    def call(self, method, **params):
        self.number += 1
        deadline = time.monotonic() + ANSWER_SECONDS
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        text = json.dumps(request).encode() + b"\0"
        while text:
            text = text[os.write(self.requests, text):]
        while True:
            message = self.message(method, deadline)
            if message.get("id") == self.number:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait(self, method):
        deadline = time.monotonic() + ANSWER_SECONDS
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message(method, deadline))

    def evaluate(self, text):
        return self.call("Runtime.evaluate", expression=text)["result"].get("value")

    def end(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(ANSWER_SECONDS)


def check(browser, page, width, scheme, screenshots):
    """The offences of a page."""
    offences = []
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    address = pathlib.Path(page).resolve().as_uri()
    browser.call("Page.navigate", url=address)
    browser.wait("Page.loadEventFired")
    measured = json.loads(browser.evaluate(MEASURE))
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            offences.append(f"console: {json.dumps(params)[:300]}")
        if method == "Network.requestWillBeSent" and params["request"]["url"] != address:
            offences.append(f"requests {params['request']['url'][:200]}")
    if measured["overflow"] > 0:
        offences.append(f"scrolls sideways by {measured['overflow']} pixels")
    if measured["contrast"] < CONTRAST:
        offences.append(f"contrast {measured['contrast']:.2f} of {measured['of']}")
    if measured["smallest"] < 9:
        offences.append(f"letters of {measured['smallest']:.1f} pixels")
    if measured["charts"] == 0 or not measured["charts"] == measured["shown"] == measured["tables"]:
        offences.append(f"charts, those shown, their tables: {measured}")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    images = [node for node in nodes if node.get("role", {}).get("value") in ("image", "img")]
    names = [node.get("name", {}).get("value", "") for node in images]
    if len(names) != measured["charts"] or not all(len(name) > 10 for name in names):
        offences.append(f"names of charts: {names}")
    browser.evaluate(WATCH)
    for _ in range(measured["operable"] + 1):
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    reached = browser.evaluate(REACHED)
    if reached != measured["operable"]:
        offences.append(f"the tab key reaches {reached} of {measured['operable']}")
    # A key opens the numbers of a chart.
    opened = browser.evaluate("document.querySelector('summary').focus(); document.querySelector('details').open")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter", windowsVirtualKeyCode=13)
    if opened or not browser.evaluate("document.querySelector('details').open"):
        offences.append("a key does not open the numbers of a chart")
    if json.loads(browser.evaluate(MEASURE))["overflow"] > 0:
        offences.append("scrolls sideways with the numbers open")
    browser.evaluate("document.querySelector('details').open = false; document.activeElement.blur(); scrollTo(0, 0)")
    if screenshots:
        size = browser.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": width, "height": min(size["height"], 6000), "scale": 1}
        shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        name = f"{pathlib.Path(page).stem}-{width}-{scheme}.png"
        (pathlib.Path(screenshots) / name).write_bytes(base64.b64decode(shot))
    return offences, measured["paper"]


def main():
    program, screenshots, *pages = sys.argv[1:]
    pathlib.Path(screenshots).mkdir(parents=True, exist_ok=True)
    failed = checked = 0
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(program, folder)
        for page in pages:
            papers, start = {}, time.monotonic()
            for width in WIDTHS:
                for scheme in SCHEMES:
                    offences, papers[scheme] = check(browser, page, width, scheme, screenshots)
                    checked += 1
                    for offence in offences:
                        failed += 1
                        print(f"{page}, {width} pixels, {scheme}: {offence}")
            if papers["light"] == papers["dark"]:
                failed += 1
                print(f"{page}: dark is as light")
            print(f"{pathlib.Path(page).name}: {time.monotonic() - start:.1f} s", flush=True)
        browser.end()
    print(f"{len(pages)} pages, {checked} views, {failed} offences; pictures in {screenshots}")
    sys.exit(1 if failed else 0)


main()
