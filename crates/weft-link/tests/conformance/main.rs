//! One suite for every link, instantiated for each protocol, and what only one protocol has.

mod case;
mod suite;
mod tcp;
mod unix;

use case::{TcpV4, TcpV6, UnixStream};

/// The whole suite for one [`case::Case`].
macro_rules! conformance {
    ($case:ident, $module:ident: $($test:ident)*) => {
        mod $module {
            $(
                #[test]
                fn $test() {
                    if let Some(case) = crate::case::Case::new() {
                        crate::suite::$test::<crate::$case>(&case);
                    }
                }
            )*
        }
    };
    ($($case:ident in $module:ident,)*) => {
        $(conformance! { $case, $module:
            both_ends_know_each_other
            bytes_go_both_ways
            nothing_to_read_is_would_block
            vectored_writes_keep_the_order
            a_peer_that_does_not_read_stops_the_writer_and_loses_nothing
            closing_does_not_wait_and_sends_what_was_written
            half_close_leaves_the_other_direction_open
            a_peer_that_closes_without_reading_is_a_reset
            nobody_there_is_refused
            an_address_has_one_listener_and_is_free_after_it
            an_early_finish_hands_the_dial_back
            an_unreachable_peer_delays_no_other
            a_read_and_a_write_at_the_same_time
        })*
    };
}

conformance! {
    TcpV4 in tcp_v4,
    TcpV6 in tcp_v6,
    UnixStream in unix_stream,
}
