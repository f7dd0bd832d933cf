//! Faces, declarations, interests, routes and queries in flight, without I/O.
