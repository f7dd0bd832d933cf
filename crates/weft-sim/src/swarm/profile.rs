//! Kinds of bad weather.

/// How often each fault is chosen, relative to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultWeights {
    /// A connection breaks.
    pub reset: u64,
    /// Nothing comes through between two nodes for a while.
    pub cut: u64,
    /// The same in one direction.
    pub cut_one_way: u64,
    /// A process dies, and starts again later.
    pub kill: u64,
    /// A machine loses its power, and starts again later.
    pub power_off: u64,
    /// A node closes, and starts again.
    pub close: u64,
    /// A node reads slowly, or not at all, for a while.
    pub slow: u64,
}

impl FaultWeights {
    pub(crate) const fn sum(&self) -> u64 {
        self.reset
            + self.cut
            + self.cut_one_way
            + self.kill
            + self.power_off
            + self.close
            + self.slow
    }
}

/// What a swarm goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Steps that break something, in percent.
    pub fault_percent: u64,
    /// What breaks.
    pub faults: FaultWeights,
    /// Longest pause between two steps, in microseconds.
    pub pause_us_max: u64,
    /// Longest way between two nodes, in microseconds.
    pub latency_us_max: u64,
    /// Batches of a few dozen bytes, sequence numbers of eight bits, queues of one batch.
    pub tiny: bool,
    /// Routers and peers that are members of a network with others that are, in percent; the others
    /// are like those of other implementations.
    pub mesh_percent: u64,
    /// Peers find each other by multicast, through bad datagrams.
    pub scouting: bool,
    /// Wall clocks that differ, in milliseconds at most.
    pub skew_ms_max: u64,
    /// Longest payload, in bytes.
    pub payload_len_max: u64,
    /// Every node has rules, which change while it runs.
    pub rules: bool,
}

const NO_FAULTS: FaultWeights =
    FaultWeights { reset: 0, cut: 0, cut_one_way: 0, kill: 0, power_off: 0, close: 0, slow: 0 };

const CALM: Profile = Profile {
    name: "calm",
    about: "no faults: nothing may be lost",
    fault_percent: 0,
    faults: NO_FAULTS,
    pause_us_max: 20_000,
    latency_us_max: 20_000,
    tiny: false,
    mesh_percent: 100,
    scouting: false,
    skew_ms_max: 0,
    payload_len_max: 100,
    rules: false,
};

/// All profiles; a seed chooses one by its remainder.
pub const PROFILES: &[Profile] = &[
    CALM,
    Profile {
        name: "resets",
        about: "connections break",
        fault_percent: 10,
        faults: FaultWeights { reset: 1, ..NO_FAULTS },
        ..CALM
    },
    Profile {
        name: "partitions",
        about: "nothing comes through, one way or both, for a while",
        fault_percent: 10,
        faults: FaultWeights { cut: 2, cut_one_way: 1, ..NO_FAULTS },
        pause_us_max: 2_000_000,
        ..CALM
    },
    Profile {
        name: "crashes",
        about: "nodes are killed, lose power, close, and come back",
        fault_percent: 8,
        faults: FaultWeights { kill: 2, power_off: 1, close: 1, ..NO_FAULTS },
        pause_us_max: 1_000_000,
        ..CALM
    },
    Profile {
        name: "slow",
        about: "nodes read slowly or not at all; queues are short",
        fault_percent: 10,
        faults: FaultWeights { slow: 1, ..NO_FAULTS },
        pause_us_max: 100_000,
        tiny: true,
        payload_len_max: 4_000,
        ..CALM
    },
    Profile {
        name: "tiny",
        about: "batches of a few dozen bytes, short sequence numbers, much fragmentation",
        tiny: true,
        payload_len_max: 3_000,
        ..CALM
    },
    Profile {
        name: "scouting",
        about: "peers find each other by multicast, while connections break",
        fault_percent: 6,
        faults: FaultWeights { reset: 2, kill: 1, close: 1, ..NO_FAULTS },
        pause_us_max: 500_000,
        scouting: true,
        ..CALM
    },
    Profile {
        name: "mixed",
        about: "half of the nodes are no members of a mesh, and no faults: nothing may be lost",
        mesh_percent: 50,
        ..CALM
    },
    Profile {
        name: "skew",
        about: "wall clocks that differ by seconds",
        skew_ms_max: 5_000,
        ..CALM
    },
    Profile {
        name: "rules",
        about: "rules that change at any time, while connections break; what all forbid stays home",
        fault_percent: 4,
        faults: FaultWeights { reset: 2, kill: 1, close: 1, ..NO_FAULTS },
        rules: true,
        ..CALM
    },
    Profile {
        name: "everything",
        about: "all faults together",
        fault_percent: 12,
        faults: FaultWeights {
            reset: 4,
            cut: 3,
            cut_one_way: 2,
            kill: 2,
            power_off: 2,
            close: 2,
            slow: 2,
        },
        pause_us_max: 1_000_000,
        latency_us_max: 50_000,
        skew_ms_max: 2_000,
        payload_len_max: 2_000,
        ..CALM
    },
];
