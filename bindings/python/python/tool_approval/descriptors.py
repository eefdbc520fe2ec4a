"""Waiting for file descriptors in an event loop."""

from __future__ import annotations

import asyncio

__all__ = ["wait_until_readable"]


async def wait_until_readable(descriptor: int) -> None:
    """Wait until a descriptor can be read."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def on_readable() -> None:
        loop.remove_reader(descriptor)
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, on_readable)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
