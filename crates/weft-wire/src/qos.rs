//! Quality of service: priority, congestion control, express, reliability.
//!
//! Spec: 02 §1.1.1. The QoS byte travels in an extension of every network message; reliability does not,
//! it is the channel of the frame.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! |_|_|F|E|D| prio |   D: block   F: block first (only if not D)   E: express
//! ```

/// The eight priorities; a lower number is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Priority {
    /// Declarations and other traffic of the protocol itself.
    Control = 0,
    /// The most urgent for users.
    RealTime = 1,
    /// Interactive, before its lower half.
    InteractiveHigh = 2,
    /// Interactive.
    InteractiveLow = 3,
    /// Data before the default.
    DataHigh = 4,
    /// The default.
    #[default]
    Data = 5,
    /// Data after the default.
    DataLow = 6,
    /// Served when there is nothing else.
    Background = 7,
}

impl Priority {
    /// All priorities, most urgent first.
    pub const ALL: [Self; 8] = [
        Self::Control,
        Self::RealTime,
        Self::InteractiveHigh,
        Self::InteractiveLow,
        Self::DataHigh,
        Self::Data,
        Self::DataLow,
        Self::Background,
    ];

    /// The priority of the low three bits of `bits`.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self::ALL[(bits & 0b111) as usize]
    }
}

/// What happens to a message that finds the transmission queue full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CongestionControl {
    /// It may be dropped.
    #[default]
    Drop,
    /// Its sender waits.
    Block,
    /// One message per link and priority waits, others may be dropped. Older decoders read `Drop`.
    BlockFirst,
}

/// The channel of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reliability {
    /// May travel over a lossy link.
    BestEffort,
    /// Travels over a reliable link if there is one.
    #[default]
    Reliable,
}

/// The QoS byte of a network message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Qos(u8);

impl Qos {
    /// What an absent extension means, for every message: `Data`, `Drop`, not express.
    pub const DEFAULT: Self = Self(0x05);
    /// What DECLARE, INTEREST and OAM are sent with: `Control`, `Block`, not express.
    pub const DECLARE: Self = Self(0x08);
    /// What queries are sent with unless the user says otherwise: `Data`, `Block`, not express.
    pub const REQUEST: Self = Self(0x0d);

    const BLOCK: u8 = 0x08;
    const EXPRESS: u8 = 0x10;
    const BLOCK_FIRST: u8 = 0x20;

    /// A QoS byte of its parts.
    #[must_use]
    pub const fn new(priority: Priority, congestion: CongestionControl, express: bool) -> Self {
        Self(priority as u8).with_congestion_control(congestion).with_express(express)
    }

    /// The QoS of a byte from the wire. Unassigned bits are kept, so that they are forwarded.
    #[inline]
    #[must_use]
    pub const fn from_raw(raw: u8) -> Self {
        Self(raw)
    }

    /// The byte.
    #[inline]
    #[must_use]
    pub const fn raw(self) -> u8 {
        self.0
    }

    /// The priority.
    #[inline]
    #[must_use]
    pub const fn priority(self) -> Priority {
        Priority::from_bits(self.0)
    }

    /// The congestion control.
    #[inline]
    #[must_use]
    pub const fn congestion_control(self) -> CongestionControl {
        if self.0 & Self::BLOCK != 0 {
            CongestionControl::Block
        } else if self.0 & Self::BLOCK_FIRST != 0 {
            CongestionControl::BlockFirst
        } else {
            CongestionControl::Drop
        }
    }

    /// True if the message is flushed at once instead of waiting for company in its batch.
    #[inline]
    #[must_use]
    pub const fn express(self) -> bool {
        self.0 & Self::EXPRESS != 0
    }

    /// The same with another priority.
    #[must_use]
    pub const fn with_priority(self, priority: Priority) -> Self {
        Self(self.0 & !0b111 | priority as u8)
    }

    /// The same with another congestion control.
    #[must_use]
    pub const fn with_congestion_control(self, congestion: CongestionControl) -> Self {
        let bits = match congestion {
            CongestionControl::Drop => 0,
            CongestionControl::Block => Self::BLOCK,
            CongestionControl::BlockFirst => Self::BLOCK_FIRST,
        };
        Self(self.0 & !(Self::BLOCK | Self::BLOCK_FIRST) | bits)
    }

    /// The same, express or not.
    #[must_use]
    pub const fn with_express(self, express: bool) -> Self {
        Self(self.0 & !Self::EXPRESS | if express { Self::EXPRESS } else { 0 })
    }
}

impl Default for Qos {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_bytes_mean_what_they_say() {
        use CongestionControl::{Block, Drop};
        assert_eq!(Qos::new(Priority::Data, Drop, false), Qos::DEFAULT);
        assert_eq!(Qos::new(Priority::Control, Block, false), Qos::DECLARE);
        assert_eq!(Qos::new(Priority::Data, Block, false), Qos::REQUEST);
        assert_eq!(Qos::new(Priority::RealTime, Block, true).raw(), 0x19);
        assert_eq!(Qos::default(), Qos::DEFAULT);
    }

    #[test]
    fn parts_are_independent() {
        for raw in 0..=0x3f {
            let qos = Qos::from_raw(raw);
            let rebuilt = Qos::new(qos.priority(), qos.congestion_control(), qos.express());
            assert_eq!(rebuilt.priority(), qos.priority());
            assert_eq!(rebuilt.congestion_control(), qos.congestion_control());
            assert_eq!(rebuilt.express(), qos.express());
            let background = qos.with_priority(Priority::Background);
            assert_eq!(background.priority(), Priority::Background);
            assert_eq!(background.congestion_control(), qos.congestion_control());
        }
    }

    #[test]
    fn block_wins_over_block_first() {
        assert_eq!(Qos::from_raw(0x28).congestion_control(), CongestionControl::Block);
        assert_eq!(Qos::from_raw(0x20).congestion_control(), CongestionControl::BlockFirst);
    }
}
