"""Firefox behind a WebDriver BiDi connection that overlooks commands which this Firefox does not know.

Run in place of Firefox: Playwright sets the color scheme of every context, and Firefox ESR knows no command for it.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any

from aiohttp import ClientSession, WSMsgType, web

OPTIONAL = "emulation."  # commands without which a page is the same
READY = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
MOST = 1 << 30  # bytes of a message: pictures are long


async def forward(source: Any, target: Any, seen: dict[int, str], *, answers: bool) -> None:
    """Pass messages on; an unknown optional command is answered as done."""
    async for message in source:
        if message.type is not WSMsgType.TEXT:
            break
        content = json.loads(message.data)
        if not answers:
            seen[content["id"]] = content["method"]
        elif (
            seen.pop(content.get("id"), "").startswith(OPTIONAL) and content.get("error") == "unknown command"
        ):
            content = {"type": "success", "id": content["id"], "result": {}}
        await target.send_str(json.dumps(content))
    await target.close()


async def main(program: str, *arguments: str) -> int:
    """Run Firefox, and a server between it and whoever drives it."""
    firefox = await asyncio.create_subprocess_exec(program, *arguments, stderr=asyncio.subprocess.PIPE)
    assert firefox.stderr is not None
    found = None
    while found is None:
        line = (await firefox.stderr.readline()).decode("utf-8", "replace")
        if not line:
            return await firefox.wait()
        found = READY.search(line)
        sys.stderr.write("" if found else line)
    address = found[1]

    async def connect(request: web.Request) -> web.WebSocketResponse:
        near = web.WebSocketResponse(max_msg_size=MOST)
        await near.prepare(request)
        async with (
            ClientSession() as session,
            session.ws_connect(f"{address}{request.path}", max_msg_size=MOST) as far,
        ):
            seen: dict[int, str] = {}
            await asyncio.gather(
                forward(near, far, seen, answers=False), forward(far, near, seen, answers=True)
            )
        return near

    application = web.Application()
    application.router.add_get("/{path:.*}", connect)
    runner = web.AppRunner(application, handle_signals=False)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [(_, port)] = runner.addresses
    sys.stderr.write(f"WebDriver BiDi listening on ws://127.0.0.1:{port}\n")
    sys.stderr.flush()
    while await firefox.stderr.read(4096):
        pass
    return await firefox.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
