"""Random networks of real processes of both implementations, with nodes that are killed and stopped.

`plan` makes a network and its faults from a seed, `expect` says who hears whom in it, `member` is one node's process,
`trial` runs a plan and checks it, `__main__` is the command.
"""
