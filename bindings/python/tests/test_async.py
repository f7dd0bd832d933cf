"""Awaiting, on asyncio and on trio."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
import trio
from conftest import config, until

import weft
import weft.aio
from weft._aio import is_trio


def on_asyncio(main):
    return asyncio.run(asyncio.wait_for(main(), 20))


def on_trio(main):
    async def bounded():
        with trio.fail_after(20):
            return await main()

    return trio.run(bounded)


@pytest.fixture(params=[on_asyncio, on_trio], ids=["asyncio", "trio"])
def run(request):
    return request.param


async def nap(seconds):
    await (trio.sleep(seconds) if is_trio() else asyncio.sleep(seconds))


async def both(first, second):
    if is_trio():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first)
            nursery.start_soon(second)
    else:
        await asyncio.gather(first(), second())


def test_samples_are_awaited(run, alone, key):
    async def main():
        got = []
        subscriber = alone.declare_subscriber(key)
        threading.Timer(0.05, publish).start()
        async for sample in subscriber:
            got.append(str(sample.payload))
            if len(got) == 500:
                break
        return got

    def publish():
        for number in range(500):
            alone.put(key, str(number))

    assert run(main) == [str(number) for number in range(500)]


def test_the_loop_goes_on_meanwhile(run, alone, key):
    async def main():
        subscriber = alone.declare_subscriber(key)
        started = time.monotonic()
        threading.Timer(0.3, lambda: alone.put(key, "x")).start()
        ticks = 0
        waiting = True

        async def receive():
            nonlocal waiting
            sample = await subscriber.recv_async()
            waiting = False
            return sample

        async def tick():
            nonlocal ticks
            while waiting:
                await nap(0.01)
                ticks += 1

        await both(receive, tick)
        assert time.monotonic() - started >= 0.25
        return ticks

    assert run(main) > 5


def test_replies_are_awaited(run, alone, key):
    def answer(query):
        query.reply(f"{key}/a", "1")
        query.reply(f"{key}/b", "2")

    async def main():
        replies = await alone.get(f"{key}/*")
        each = [reply async for reply in alone.get(f"{key}/*")]
        nobody = await alone.get("nobody/there")
        return [sorted(str(it.ok.payload) for it in them) for them in (replies, each, nobody)]

    with alone.declare_queryable(f"{key}/*", answer):
        assert run(main) == [["1", "2"], ["1", "2"], []]


def test_sessions_are_opened_and_closed(run, key):
    async def main():
        async with await weft.aio.open(config()) as session:
            async with session.declare_subscriber(key) as subscriber:
                await weft.aio.run(session.put, key, "x")
                sample = await subscriber.recv_async()
            with pytest.raises(weft.ZError):
                subscriber.recv()
        assert session.is_closed()
        return str(sample.payload)

    assert run(main) == "x"


def test_the_end_ends_the_waiting(run, key):
    async def main():
        session = weft.open(config())
        subscriber = session.declare_subscriber(key)
        threading.Timer(0.05, session.close).start()
        assert [it async for it in subscriber] == []
        with pytest.raises(weft.ZError, match="closed"):
            await subscriber.handler.recv_async()
        return True

    assert run(main)


def test_giving_up_loses_nothing(run, alone, key):
    async def main():
        subscriber = alone.declare_subscriber(key)
        for _ in range(20):
            await give_up(subscriber.recv_async())
        alone.put(key, "x")
        return str((await subscriber.recv_async()).payload)

    async def give_up(waiting):
        if is_trio():
            with trio.move_on_after(0.002):
                await waiting
        else:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(waiting, 0.002)

    assert run(main) == "x"


def test_many_tasks_share_a_channel(alone, key):
    async def main():
        subscriber = alone.declare_subscriber(key)
        tasks = [asyncio.create_task(one(subscriber)) for _ in range(50)]
        await asyncio.sleep(0.02)
        for number in range(50):
            alone.put(key, str(number))
        return await asyncio.gather(*tasks)

    async def one(subscriber):
        return int(str((await subscriber.recv_async()).payload))

    assert sorted(on_asyncio(main)) == list(range(50))


def test_no_thread_for_each_waiting_task(alone, key):
    async def main():
        subscribers = [alone.declare_subscriber(f"{key}/{number}") for number in range(30)]
        tasks = [asyncio.create_task(waits(it)) for it in subscribers]
        await asyncio.sleep(0.05)
        threads = threading.active_count()
        for task in tasks:
            task.cancel()
        return threads

    async def waits(subscriber):
        await subscriber.recv_async()

    before = threading.active_count()
    assert on_asyncio(main) <= before + 1


def test_a_loop_that_is_gone_is_not_missed(alone, key):
    subscriber = alone.declare_subscriber(key)

    async def main():
        task = asyncio.create_task(receive())
        await asyncio.sleep(0.01)
        task.cancel()

    async def receive():
        await subscriber.recv_async()

    asyncio.run(main())
    alone.put(key, "x")
    assert until(subscriber.try_recv, "the sample").payload == "x"
