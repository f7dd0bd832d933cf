//! The counting handler of a subscriber.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use weft::SampleView;

/// Counts samples and looks at the numbers that they begin with.
#[derive(Default)]
pub(crate) struct Counter {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    received: u64,
    bytes: u64,
    first: Option<u64>,
    last: Option<u64>,
    gaps: u64,
    backwards: u64,
    /// By key, the number that comes next.
    next: HashMap<String, u64>,
    /// How many samples somebody waits for; the smallest counts.
    awaited: Option<u64>,
}

impl Counter {
    pub(crate) fn count(&self, sample: &SampleView<'_>) {
        let payload = sample.payload();
        let mut number = [0; 8];
        let len = payload.len().min(number.len());
        number[..len].copy_from_slice(&payload[..len]);
        let number = u64::from_le_bytes(number);

        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.received += 1;
        state.bytes += payload.len() as u64;
        state.first.get_or_insert(number);
        state.last = Some(number);
        let key = sample.key_expr();
        let expected = match state.next.get_mut(key.as_str()) {
            Some(next) => std::mem::replace(next, (*next).max(number + 1)),
            None => {
                state.next.insert(key.as_str().to_owned(), number + 1);
                number
            }
        };
        state.gaps += number.saturating_sub(expected);
        state.backwards += u64::from(number < expected);
        if state.awaited.is_some_and(|awaited| state.received >= awaited) {
            state.awaited = None;
            self.changed.notify_all();
        }
    }

    /// The statistics, once `count` samples have arrived or the time is over.
    pub(crate) fn wait(&self, count: u64, timeout: Duration) -> Value {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |state: &mut State| {
            let missing = state.received < count;
            if missing {
                state.awaited = Some(state.awaited.map_or(count, |other| other.min(count)));
            }
            missing
        };
        let (state, _) = self
            .changed
            .wait_timeout_while(state, timeout, missing)
            .unwrap_or_else(PoisonError::into_inner);
        json!({
            "reached": state.received >= count,
            "received": state.received,
            "bytes": state.bytes,
            "first": state.first,
            "last": state.last,
            "gaps": state.gaps,
            "backwards": state.backwards,
        })
    }
}
