//! Recording messages on their way, for those whose sender asked for it.
//!
//! A message that passes between this node's session and its neighbours is recorded as routed as well
//! as sent or received; one that stays in the session is not routed. Nothing is recorded for nobody: an
//! application that stamps itself is asked once for each record. Spec: 02 §1.1.3, 05 A.13.

use weft_wire::{InterceptionPoint, InterceptionPoints, Stamp, TsRecord, TsStack};

use crate::clock::wall_ntp64;
use crate::shared::Shared;

impl Shared {
    /// The stack `bytes` with what is recorded at `point`; unchanged if nothing is, or they are no
    /// stack.
    ///
    /// Cost: some allocations and copies, and what the application's own stamp costs.
    #[cold]
    pub(crate) fn recorded(&self, bytes: &[u8], point: InterceptionPoint) -> Vec<u8> {
        let stack = TsStack::decode(bytes).ok();
        let stack = stack.filter(|stack| stack.points().contains(point));
        let recorded = stack.and_then(|stack| match self.session.custom_stamp() {
            Some(custom) => stack.with(&TsRecord { point, stamp: Stamp::Custom(&custom) }),
            None => {
                let stamp = Stamp::Time(self.stack_clock().stamp(wall_ntp64()));
                stack.with(&TsRecord { point, stamp })
            }
        });
        recorded.unwrap_or_else(|| bytes.to_vec())
    }

    /// The stack of a message that this session sends.
    #[cold]
    pub(crate) fn begun(&self, points: InterceptionPoints) -> Vec<u8> {
        self.recorded(&TsStack::empty(points).to_bytes(), InterceptionPoint::Send)
    }
}
