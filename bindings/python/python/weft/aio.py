"""The calls that block, for code on asyncio or trio.

What receives can be awaited as it is: ``async for sample in subscriber``, ``await handler.recv_async()``,
``await session.get(...)``; sessions and entities work with ``async with``. Publishing never waits for the network
unless it is told to (``CongestionControl.BLOCK``). For what remains, ``open`` and ``run``:

>>> async def main():
...     async with await weft.aio.open() as session:
...         async with session.declare_subscriber("demo/**") as subscriber:
...             async for sample in subscriber:
...                 print(sample.payload.to_string())
"""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

from . import _aio, _weft

T = TypeVar("T")


async def run(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Calls ``function`` on a thread of the event loop's, so that the loop goes on meanwhile."""
    call = functools.partial(function, *args, **kwargs)
    if _aio.is_trio():
        import trio

        done: T = await trio.to_thread.run_sync(call)
        return done
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, call)


async def open(config: _weft.Config | None = None, **kwargs: Any) -> _weft.Session:
    """Opens a session, as ``weft.open`` does."""
    return await run(_weft.open, config, **kwargs)


__all__ = ["open", "run"]
