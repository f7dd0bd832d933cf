//! Many nodes, virtual time, seeded faults and checkers.
