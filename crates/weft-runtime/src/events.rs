//! News for the session, delivered on threads of their own.
//!
//! News come from calls under the control lock, from timers and from reading threads. None of those
//! may wait for a handler of the application, nor for room on the way to a neighbour; an event thread
//! may. Each receiver has a lane of its own, in which news are delivered one at a time and in order;
//! a handler that takes its time holds up its own lane only, because another thread takes over the
//! others (see [`crate::duty`]).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use weft_node::{FaceId, NodeEvent};
use weft_wire::ZenohId;

use crate::cell::LinkCell;
use crate::duty::{Duty, Post, guarded};
use crate::query::Answer;
use crate::reserve::Reserve;
use crate::shared::Shared;
use crate::transport::Transport;

/// What is in order with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// What concerns the session as a whole.
    Session,
    /// What an entity or query is told.
    Entity(u32),
    /// Queries that this session answers to itself, by their id.
    OwnQuery(u32),
    /// What a neighbour is answered.
    Face(FaceId),
}

/// Something to deliver.
pub(crate) enum News {
    Event(NodeEvent),
    /// A link carries a transport to this neighbour from here on.
    LinkUp(Arc<LinkCell>, ZenohId),
    /// It does so no more.
    LinkDown(Arc<LinkCell>, ZenohId),
    /// An answer that the node itself gives.
    Answer(Arc<Transport>, Answer),
    /// A call that the session asked for.
    Call(Box<dyn FnOnce() + Send>),
}

#[derive(Default)]
struct State {
    /// Lanes that hold something or are being delivered.
    lanes: HashMap<Lane, VecDeque<News>>,
    /// Lanes that hold something and are not being delivered.
    ready: VecDeque<Lane>,
    stopped: bool,
}

/// News that wait for their delivery.
#[derive(Default)]
pub(crate) struct EventQueue {
    state: Mutex<State>,
    changed: Condvar,
    /// Relieved threads that may be the next to take over.
    pub(crate) spares: Reserve<()>,
}

impl EventQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, lane: Lane, news: News) {
        let mut state = self.lock();
        if state.stopped {
            drop(state);
            return; // What `news` holds is dropped without the lock.
        }
        let is_new = !state.lanes.contains_key(&lane);
        state.lanes.entry(lane).or_default().push_back(news);
        if is_new {
            state.ready.push_back(lane);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Queues an event for those whom it concerns.
    pub(crate) fn push_event(&self, event: NodeEvent) {
        let lane = match &event {
            NodeEvent::Token { subscribers, key, alive } => {
                for id in subscribers {
                    let (subscribers, key, alive) = (vec![*id], key.clone(), *alive);
                    let event = NodeEvent::Token { subscribers, key, alive };
                    self.push(Lane::Entity(*id), News::Event(event));
                }
                return;
            }
            NodeEvent::Matching { id, .. } | NodeEvent::QueryablesKnown { querier: id } => {
                Lane::Entity(*id)
            }
            NodeEvent::TokenReply { query, .. }
            | NodeEvent::TokenQueryFinal { query }
            | NodeEvent::QueryTimeout { query }
            | NodeEvent::QueryFinal { query } => Lane::Entity(*query),
            _ => Lane::Session,
        };
        self.push(lane, News::Event(event));
    }

    /// Delivers nothing any more; what waits is dropped.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        let dropped = std::mem::take(&mut state.lanes);
        state.ready.clear();
        drop(state);
        self.changed.notify_all();
        self.spares.close();
        drop(dropped);
    }

    /// The next news, and its lane, which is the caller's until [`EventQueue::done`].
    fn next(&self) -> Option<(Lane, News)> {
        let mut state = self.lock();
        while !state.stopped {
            if let Some(lane) = state.ready.pop_front()
                && let Some(news) = state.lanes.get_mut(&lane).and_then(VecDeque::pop_front)
            {
                return Some((lane, news));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn done(&self, lane: Lane) {
        let mut state = self.lock();
        match state.lanes.get(&lane).map(VecDeque::is_empty) {
            Some(true) => {
                state.lanes.remove(&lane);
            }
            Some(false) => {
                state.ready.push_back(lane);
                drop(state);
                self.changed.notify_one();
            }
            None => {}
        }
    }

    /// An event thread's work: until the queue is stopped, or another thread has taken over and this
    /// one is not needed again.
    pub(crate) fn run(&self, shared: &Weak<Shared>, post: &Post) {
        while let Some((lane, news)) = self.next() {
            let Some(shared) = shared.upgrade() else { return };
            post.begin(Duty::Events);
            shared.service.watch();
            match news {
                News::Event(event) => guarded(|| shared.session.event(event)),
                News::LinkUp(cell, zid) => guarded(|| shared.session.link_up(zid, cell.info())),
                News::LinkDown(cell, zid) => guarded(|| shared.session.link_down(zid, cell.info())),
                News::Call(call) => guarded(call),
                News::Answer(transport, answer) => {
                    answer.append_to(&transport.sender, || {});
                    transport.sender.flush();
                }
            }
            self.done(lane);
            let is_free = post.end();
            drop(shared);
            if is_free && self.spares.wait().is_none() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> News {
        News::Call(Box::new(|| ()))
    }

    #[test]
    fn a_lane_that_is_being_delivered_waits_and_others_go_on() {
        let queue = EventQueue::default();
        for lane in [Lane::Entity(1), Lane::Entity(1), Lane::Entity(2)] {
            queue.push(lane, call());
        }
        assert_eq!(queue.next().unwrap().0, Lane::Entity(1));
        assert_eq!(queue.next().unwrap().0, Lane::Entity(2));
        assert!(queue.lock().ready.is_empty());
        queue.done(Lane::Entity(2));
        queue.done(Lane::Entity(1));
        assert_eq!(queue.next().unwrap().0, Lane::Entity(1));
        queue.done(Lane::Entity(1));
        assert!(queue.lock().lanes.is_empty());
    }

    #[test]
    fn a_stopped_queue_takes_and_gives_nothing() {
        let queue = EventQueue::default();
        queue.push(Lane::Session, call());
        queue.stop();
        queue.push(Lane::Session, call());
        assert!(queue.next().is_none());
        assert!(queue.lock().lanes.is_empty());
    }
}
