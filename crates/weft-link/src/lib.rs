//! Operating-system links: TCP, Unix streams and the scouting sockets.
