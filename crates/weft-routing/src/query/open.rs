//! The table of queries in flight at this node.
//!
//! Every message of every query looks here, so nothing costs more than a hash. Deadlines are not in
//! order: nearly all queries end long before theirs, so only the earliest one is known, as a lower
//! bound, and found again when that has passed.

use alloc::vec::Vec;
use core::mem;
use hashbrown::HashMap;

use super::PendingReply;
use crate::face::FaceId;

/// How long after a look at all deadlines the next one is at the earliest, in microseconds: so late may a
/// query time out while others do.
const LOOK_PERIOD_US: u64 = 1_000;
/// Of very many branches, a microsecond's worth of that for so many: a twentieth of a processor at most.
const BRANCHES_PER_US: u64 = 16;
/// Places for queries that are kept when none is open.
const SLOTS_KEPT: usize = 1024;

/// A request that was sent on: the face and its id there, which this node has chosen.
type BranchId = (FaceId, u32);

#[derive(Clone, Debug)]
struct Branch {
    slot: u32,
    deadline_us: u64,
}

/// A place for a query; free if it has no branches.
#[derive(Clone, Debug)]
struct Slot {
    reply: PendingReply,
    branches: Vec<BranchId>,
}

/// All queries in flight at this node.
#[derive(Clone, Debug)]
pub(crate) struct Queries {
    slots: Vec<Slot>,
    free: Vec<u32>,
    branches: HashMap<BranchId, Branch>,
    /// The queries of this node's session by their ids, to be cancelled.
    own: HashMap<u32, u32>,
    /// The session has used an id again before its query had ended: only the second one is in `own`.
    careless: bool,
    /// No branch has a deadline before this one.
    earliest_us: Option<u64>,
}

impl Default for Queries {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            branches: HashMap::new(),
            own: HashMap::new(),
            careless: false,
            earliest_us: None,
        }
    }
}

impl Queries {
    /// Cost: two hashes for a query of this session, one for others, and one for each further branch.
    pub(super) fn open(
        &mut self,
        reply: PendingReply,
        branches: impl Iterator<Item = BranchId>,
        deadline_us: u64,
    ) {
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        if slot as usize == self.slots.len() {
            self.slots.push(Slot { reply, branches: Vec::new() });
        }
        let query = &mut self.slots[slot as usize];
        query.reply = reply;
        query.branches.extend(branches);
        for branch in &query.branches {
            self.branches.insert(*branch, Branch { slot, deadline_us });
        }
        if reply.source == FaceId::LOCAL {
            self.careless |= self.own.insert(reply.source_id, slot).is_some();
        }
        self.earliest_us = Some(self.earliest_us.map_or(deadline_us, |it| it.min(deadline_us)));
    }

    /// Where an answer to a branch goes.
    pub(super) fn reply(&self, face: FaceId, id: u32) -> Option<PendingReply> {
        let branch = self.branches.get(&(face, id))?;
        Some(self.slots[branch.slot as usize].reply)
    }

    /// Ends a branch. The second part is true when it was the query's last one.
    pub(super) fn end(&mut self, face: FaceId, id: u32) -> Option<(PendingReply, bool)> {
        let slot = self.branches.remove(&(face, id))?.slot;
        let query = &mut self.slots[slot as usize];
        query.branches.retain(|branch| *branch != (face, id));
        let (reply, last) = (query.reply, query.branches.is_empty());
        if last {
            self.release(slot);
        }
        Some((reply, last))
    }

    /// Forgets a query of this session, whose answers then find nobody. Returns how many had that id.
    pub(super) fn cancel(&mut self, source_id: u32) -> usize {
        if self.careless {
            return self.forget_if(FaceId::LOCAL, |id| id == source_id).len();
        }
        let slot = self.own.get(&source_id).copied();
        slot.map_or(0, |slot| {
            self.forget(slot);
            1
        })
    }

    /// The same for all queries of a source. Returns their ids there, in order.
    ///
    /// Cost: a look at every query.
    pub(super) fn forget_all(&mut self, source: FaceId) -> Vec<u32> {
        self.forget_if(source, |_| true)
    }

    fn forget_if(&mut self, source: FaceId, is_meant: impl Fn(u32) -> bool) -> Vec<u32> {
        let open = self.slots.iter().zip(0_u32..).filter(|(slot, _)| !slot.branches.is_empty());
        let meant: Vec<_> = open
            .map(|(slot, index)| (slot.reply, index))
            .filter(|(reply, _)| reply.source == source && is_meant(reply.source_id))
            .collect();
        for (_, slot) in &meant {
            self.forget(*slot);
        }
        let mut ids: Vec<u32> = meant.into_iter().map(|(reply, _)| reply.source_id).collect();
        ids.sort_unstable();
        ids
    }

    /// The ids of the branches at a face, in order. Cost: a look at every branch.
    pub(super) fn branches_at(&self, face: FaceId) -> Vec<u32> {
        let all = self.branches.keys();
        let mut ids: Vec<u32> = all.filter(|(at, _)| *at == face).map(|(_, id)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// The branches whose time is over, in the order of their deadlines. They are still open.
    ///
    /// Cost: nothing before [`Queries::next_deadline_us`], then a look at every branch.
    pub(super) fn overdue(&mut self, now_us: u64) -> Vec<BranchId> {
        if self.earliest_us.is_none_or(|at_us| at_us > now_us) {
            return Vec::new();
        }
        let mut due = Vec::new();
        let mut earliest_us = None;
        for (id, branch) in &self.branches {
            if branch.deadline_us <= now_us {
                due.push((branch.deadline_us, *id));
            } else {
                let before = earliest_us.unwrap_or(u64::MAX);
                earliest_us = Some(before.min(branch.deadline_us));
            }
        }
        let pause_us = LOOK_PERIOD_US.max(self.branches.len() as u64 / BRANCHES_PER_US);
        self.earliest_us = earliest_us.map(|at_us: u64| at_us.max(now_us + pause_us));
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).collect()
    }

    /// Queries that have not ended.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// When to look for branches whose time is over: not after the first of them is.
    pub(crate) fn next_deadline_us(&self) -> Option<u64> {
        self.earliest_us
    }

    fn forget(&mut self, slot: u32) {
        let query = &mut self.slots[slot as usize];
        for branch in query.branches.drain(..) {
            self.branches.remove(&branch);
        }
        self.release(slot);
    }

    /// A query without branches is over.
    fn release(&mut self, slot: u32) {
        let PendingReply { source, source_id, .. } = self.slots[slot as usize].reply;
        if source == FaceId::LOCAL && self.own.get(&source_id) == Some(&slot) {
            self.own.remove(&source_id);
        }
        self.free.push(slot);
        if self.branches.is_empty() {
            self.earliest_us = None;
            self.careless = false;
            if self.slots.len() > SLOTS_KEPT {
                drop(mem::take(self));
            }
        }
    }
}
