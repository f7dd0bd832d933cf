"""Things that arrive on another thread, waited for with a deadline instead of a sleep."""

import threading
import time

# How long a wait takes before it fails, in seconds. Generous: a good run never gets near it.
WAIT_SECONDS = 10.0


class Closed(Exception):
    """Nothing more will arrive, and what is waited for has not."""


class Inbox:
    """An append-only list of what arrived, in order of arrival."""

    def __init__(self, name):
        self.name = name
        self._items = []
        self._read = 0
        self._closed = None
        self._changed = threading.Condition()

    def put(self, item):
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()

    def close(self, reason):
        """Fails every wait, present and future, that what has arrived so far does not satisfy."""
        with self._changed:
            self._closed = self._closed or reason
            self._changed.notify_all()

    @property
    def items(self):
        """Everything that has arrived so far."""
        with self._changed:
            return list(self._items)

    def items_from(self, start):
        """What has arrived so far but the first `start` items."""
        with self._changed:
            return self._items[start:]

    @property
    def is_closed(self):
        with self._changed:
            return self._closed is not None

    def wait(self, count, timeout=WAIT_SECONDS):
        """The first `count` items, as soon as there are as many. Does not consume them."""
        self._wait(lambda: len(self._items) >= count, timeout, f"{count} items")
        return self.items[:count]

    def wait_for(self, predicate, timeout=WAIT_SECONDS):
        """The first item, whenever it arrived, that `predicate` holds for."""
        self._wait(lambda: any(map(predicate, self._items)), timeout, "a certain item")
        return next(item for item in self.items if predicate(item))

    def next(self, timeout=WAIT_SECONDS):
        """The first item that `next` has not returned before."""
        self._wait(lambda: len(self._items) > self._read, timeout, f"item {self._read + 1}")
        with self._changed:
            self._read += 1
            return self._items[self._read - 1]

    def wait_closed(self, timeout=WAIT_SECONDS):
        """Returns the reason given to `close`, once nothing more will arrive."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not self._closed:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"{self.name}: waited {timeout} s for the end; {self._arrived()}")
            return self._closed

    def _wait(self, satisfied, timeout, what):
        deadline = time.monotonic() + timeout
        with self._changed:
            while not satisfied():
                if self._closed:
                    raise Closed(f"{self.name}: waited for {what}, but {self._closed}; {self._arrived()}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{self.name}: waited {timeout} s for {what}; {self._arrived()}")
                self._changed.wait(left)

    def _arrived(self):
        shown = ", ".join(map(repr, self._items[-3:]))
        return f"{len(self._items)} arrived, the last: {shown or 'none'}"
