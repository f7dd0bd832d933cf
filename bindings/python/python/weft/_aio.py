"""Waiting for handlers on asyncio and trio."""

from __future__ import annotations

import sys
from typing import Any

from ._weft import Handler, ZError


def is_trio() -> bool:
    """Whether the calling task is trio's. Otherwise it is asyncio's."""
    trio = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


async def _wait(handler: Handler[Any]) -> None:
    """Returns when an item may be there, or the end."""
    if is_trio():
        import trio

        token = trio.lowlevel.current_trio_token()
        event = trio.Event()

        def wake() -> None:
            try:
                token.run_sync_soon(event.set)
            except trio.RunFinishedError:
                pass

        waiting = handler._notify(wake)
        if waiting is not None:
            await event.wait()
        return
    import asyncio

    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def done() -> None:
        if not future.done():
            future.set_result(None)

    def wake_loop() -> None:
        try:
            loop.call_soon_threadsafe(done)
        except RuntimeError:
            pass  # the loop is closed, and nobody waits any more

    waiting = handler._notify(wake_loop)
    if waiting is not None:
        await future


async def recv(handler: Handler[Any]) -> Any:
    """The next item. Raises ``ZError`` when the channel is closed and empty."""
    while True:
        item = handler.try_recv()
        if item is not None:
            return item
        await _wait(handler)


async def anext(handler: Handler[Any]) -> Any:
    """As ``recv``, with the end that iteration wants."""
    try:
        return await recv(handler)
    except ZError as error:
        if error.kind == "closed":
            raise StopAsyncIteration from None
        raise


async def collect(handler: Handler[Any]) -> list[Any]:
    """All items up to the end."""
    return [item async for item in handler]
