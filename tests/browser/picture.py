"""Make the picture of the README anew: the first screen of the report of `sounding demo`.

    python -m tests.browser.picture docs/assets/report.webp

Needs the browser of the browser tests. Pixels differ from machine to machine with their fonts.
"""

from __future__ import annotations

import base64
import shutil
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

from sounding.cli import cli

DESK: ViewportSize = {"width": 1280, "height": 800}
CONVERT = """async (png) => {
  const image = new Image();
  image.src = png;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.9);
}"""


def main(target: Path) -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        with chdir(folder):
            cli(["demo", "demo"], standalone_mode=False)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=DESK, device_scale_factor=1.25, color_scheme="light")
        page.goto(Path(folder, "demo", "report.html").as_uri())
        page.wait_for_timeout(500)
        png = f"data:image/png;base64,{base64.b64encode(page.screenshot()).decode()}"
        blank = browser.new_page()
        webp: str = blank.evaluate(CONVERT, png)
        browser.close()
    target.write_bytes(base64.b64decode(webp.partition(",")[2]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
