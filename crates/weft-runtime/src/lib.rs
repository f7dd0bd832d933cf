//! Threads, poller, buffers and clock around a node.
