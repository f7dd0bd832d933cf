"""Prints who is there."""

import threading

import common

import weft


def main():
    weft.init_log_from_env_or("error")
    common.say("Scouting...")
    scout = weft.scout(what="peer|router")
    threading.Timer(1.0, scout.stop).start()
    for hello in scout:
        common.say(hello)


common.run(main)
