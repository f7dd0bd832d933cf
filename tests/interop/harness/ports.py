"""Loopback addresses that nobody listens on."""

import itertools
import os
import socket

# Below the range from which the kernel gives outgoing connections their ports, so that none of these can take a port
# between the moment it is found free here and the moment it is listened on.
_FIRST, _COUNT = 20_000, 12_000
_candidates = itertools.cycle(range(_FIRST, _FIRST + _COUNT))
# Two test runs at the same time start at different places, far apart even if their process ids are neighbours.
for _ in range(os.getpid() * 4_999 % _COUNT):
    next(_candidates)


def free_port():
    """A TCP and UDP port of 127.0.0.1; each call gives another one."""
    for port in itertools.islice(_candidates, _COUNT):
        with (
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        ):
            try:
                tcp.bind(("127.0.0.1", port))
                udp.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port on the loopback interface")


def free_locator():
    """`tcp/127.0.0.1:PORT` with a free port."""
    return f"tcp/127.0.0.1:{free_port()}"
