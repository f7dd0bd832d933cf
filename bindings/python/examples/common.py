"""What the examples share: the flags of a session, and ending on Ctrl-C."""

from __future__ import annotations

import argparse
import json
import time

import weft


def flags(description: str) -> argparse.ArgumentParser:
    """A parser with the flags that every session takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-m", "--mode", choices=["peer", "client"], help="what the session is")
    parser.add_argument("-e", "--connect", metavar="ENDPOINT", action="append", help="where to connect to")
    parser.add_argument("-l", "--listen", metavar="ENDPOINT", action="append", help="where to listen")
    parser.add_argument("-c", "--config", metavar="FILE", help="a configuration")
    parser.add_argument("--no-multicast-scouting", action="store_true", help="find nobody by multicast")
    parser.add_argument("--cfg", metavar="KEY:VALUE", action="append", default=[], help="one more setting, in JSON5")
    return parser


def config(args: argparse.Namespace) -> weft.Config:
    """The configuration that the flags ask for."""
    made = weft.Config.from_file(args.config) if args.config else weft.Config()
    if args.mode:
        made.insert_json5("mode", json.dumps(args.mode))
    if args.connect:
        made.insert_json5("connect/endpoints", json.dumps(args.connect))
    if args.listen:
        made.insert_json5("listen/endpoints", json.dumps(args.listen))
    if args.no_multicast_scouting:
        made.insert_json5("scouting/multicast/enabled", "false")
    for setting in args.cfg:
        key, _, value = setting.partition(":")
        made.insert_json5(key, value)
    return made


def open(args: argparse.Namespace) -> weft.Session:
    """Opens the session that the flags ask for."""
    weft.init_log_from_env_or("error")
    say("Opening session...")
    return weft.open(config(args))


def boolean(text: str) -> bool:
    """The value of a flag that takes ``true`` or ``false``."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"true or false, not {text!r}")
    return text.lower() == "true"


def text(payload: weft.ZBytes | None) -> str:
    """A payload as text, whatever it is."""
    return bytes(payload or b"").decode(errors="replace")


def say(line: object) -> None:
    """Prints a line in one piece, whatever callbacks print at the same time, and at once, in a pipe, too."""
    print(f"{line}\n", end="", flush=True)


def wait() -> None:
    """Lets callbacks run until Ctrl-C."""
    say("Press CTRL-C to quit...")
    while True:
        time.sleep(1)


def run(main) -> None:
    """Runs a program that Ctrl-C ends, without calling that an error."""
    try:
        main()
    except KeyboardInterrupt:
        pass
