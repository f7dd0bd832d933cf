//! A Zenoh node without I/O: scouting, transports, routing and local entities composed.
