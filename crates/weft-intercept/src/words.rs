//! The names that rules use: kinds of messages, flows, permissions, protocols.

use core::fmt;

/// An enum whose variants have names in the configuration.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($text,)+];

            /// Its name.
            pub const fn as_str(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// The one of this name.
            pub fn named(text: &str) -> Option<Self> {
                Self::NAMES.iter().position(|name| *name == text).map(|index| Self::ALL[index])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

named! {
    /// What a message is, as rules see it (03 §8.1).
    MessageKind {
        /// A sample with a payload.
        Put = "put",
        /// A sample that deletes.
        Delete = "delete",
        /// A query.
        Query = "query",
        /// An answer to a query, errors included.
        Reply = "reply",
        /// A subscriber, or the end of one.
        DeclareSubscriber = "declare_subscriber",
        /// A queryable, or the end of one.
        DeclareQueryable = "declare_queryable",
        /// A liveliness token, or the end of one.
        LivelinessToken = "liveliness_token",
        /// A question for the tokens of this moment.
        LivelinessQuery = "liveliness_query",
        /// An interest in tokens to come.
        DeclareLivelinessSubscriber = "declare_liveliness_subscriber",
    }
}

named! {
    /// The direction of a message, as the node that has the rules sees it.
    Flow {
        /// From a neighbour to this node.
        Ingress = "ingress",
        /// From this node to a neighbour.
        Egress = "egress",
    }
}

named! {
    /// What a rule says.
    Permission {
        /// The message passes.
        Allow = "allow",
        /// The message is refused.
        Deny = "deny",
    }
}

named! {
    /// What a link runs over.
    LinkProtocol {
        /// TCP.
        Tcp = "tcp",
        /// UDP.
        Udp = "udp",
        /// TLS over TCP.
        Tls = "tls",
        /// QUIC.
        Quic = "quic",
        /// A serial line.
        Serial = "serial",
        /// Named pipes.
        UnixPipe = "unixpipe",
        /// A Unix stream socket.
        UnixStream = "unixsock-stream",
        /// A socket between a virtual machine and its host.
        Vsock = "vsock",
        /// WebSocket.
        Ws = "ws",
    }
}

/// A set of kinds of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageSet(u16);

impl MessageSet {
    /// What samples are.
    pub const PUSHES: Self = Self::EMPTY.with(MessageKind::Put).with(MessageKind::Delete);
    /// What a QoS overwrite may change.
    pub const CHANGEABLE: Self = Self::PUSHES.with(MessageKind::Query);
    /// What carries data: all that can be downsampled or has a size.
    pub const DATA: Self = Self::CHANGEABLE.with(MessageKind::Reply);
    /// None.
    pub const EMPTY: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self((1 << MessageKind::ALL.len()) - 1);

    /// One.
    pub const fn only(kind: MessageKind) -> Self {
        Self::EMPTY.with(kind)
    }

    /// The set with one more.
    #[must_use]
    pub const fn with(self, kind: MessageKind) -> Self {
        Self(self.0 | 1 << kind as u16)
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it has this one.
    #[inline]
    pub const fn contains(self, kind: MessageKind) -> bool {
        self.0 & 1 << kind as u16 != 0
    }

    /// Whether it has all of these.
    pub const fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it has none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in it.
    pub fn iter(self) -> impl Iterator<Item = MessageKind> {
        MessageKind::ALL.iter().copied().filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<MessageKind> for MessageSet {
    fn from_iter<I: IntoIterator<Item = MessageKind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::EMPTY, Self::with)
    }
}
