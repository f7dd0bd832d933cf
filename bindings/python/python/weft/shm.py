"""Shared memory: not in this build. Importing this module fails."""

raise ImportError("weft.shm: this build has no shared memory; payloads travel as ordinary bytes")
