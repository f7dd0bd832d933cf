//! The threads that run the application's handlers, and who goes on when one of them is kept.
//!
//! A reading thread polls many links, an event thread delivers everybody's events: others depend on
//! them. A handler may wait, for room, for a reply, for a channel, or simply take its time. Then, and
//! only then, another thread takes over, so that nothing waits but what is fed by that handler. The
//! order is kept: what the kept thread is handling stays with it.
//!
//! A thread that is free again stays for a while, to take over next time
//! ([`Reserve`](crate::reserve::Reserve)).
//!
//! A wait inside the library is announced ([`relieve`]); any other long handler is found by the
//! service thread, which looks at the turns of all posts while one of them is busy ([`Crew::watch`]).
//!
//! Rule for what waits until handlers have returned (undeclaring, closing, cancelling): a thread that
//! is itself in a handler does not wait ([`is_calling`]). So two handlers can never wait for each
//! other.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cell::LinkCell;
use crate::owed::Owed;
use crate::shard::Shard;
use crate::shared::Shared;
use crate::wait::wait_while;

/// A wait shorter than this is not worth a change of threads.
pub(crate) const RELIEF_MIN: Duration = Duration::from_millis(2);

/// What a post is busy with.
pub(crate) enum Duty {
    /// It reads a link of a shard.
    Reading(Arc<Shard>, Arc<LinkCell>),
    /// It delivers an event.
    Events,
}

#[derive(Default)]
struct State {
    duty: Option<Duty>,
    /// Another thread has taken over; this one is free after its duty.
    relieved: bool,
}

/// One thread of a node that runs handlers of the application.
///
/// That thread writes it every turn, so it keeps away from the memory of others.
#[repr(align(128))]
pub(crate) struct Post {
    shared: Weak<Shared>,
    state: Mutex<State>,
    /// Odd while it is busy.
    turn: AtomicU64,
    /// The subscriber whose callback it is in, by address; 0 for none.
    callback: AtomicUsize,
    /// Answers that its handlers have given in this turn.
    owed: Owed,
}

thread_local! {
    static POST: RefCell<Option<Arc<Post>>> = const { RefCell::new(None) };
    /// Handlers that this thread is in, of those that it calls for its own publications and queries.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

impl Post {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It begins with something that may run handlers.
    pub(crate) fn begin(&self, duty: Duty) {
        self.lock().duty = Some(duty);
        self.turn.fetch_add(1, Ordering::SeqCst);
    }

    /// It is done. Returns whether another thread has taken over: then it has nothing more to do,
    /// unless it is called to take over in turn.
    pub(crate) fn end(&self) -> bool {
        self.owed.flush();
        self.turn.fetch_add(1, Ordering::SeqCst);
        let mut state = self.lock();
        let done = state.duty.take();
        let relieved = std::mem::take(&mut state.relieved);
        drop(state);
        drop(done);
        relieved
    }

    /// Calls a subscriber unless it is closed, in a way that [`Crew::is_calling`] sees.
    ///
    /// Cost: two plain stores and a load. Whoever closes the subscriber pays for the order of the
    /// first store and the load, with [`order_all_threads`](crate::barrier::order_all_threads).
    #[inline]
    pub(crate) fn call(&self, address: usize, closed: &AtomicBool, call: impl FnOnce()) {
        self.callback.store(address, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if !closed.load(Ordering::Acquire) {
            guarded(call);
        }
        self.callback.store(0, Ordering::Release);
    }

    /// Lets another thread take over, if this one is busy.
    fn relieve(&self) {
        self.owed.flush();
        let Some(shared) = self.shared.upgrade() else { return };
        let mut state = self.lock();
        if state.relieved {
            return;
        }
        let started = match &state.duty {
            None => return,
            Some(Duty::Events) => shared.start_events(),
            Some(Duty::Reading(shard, cell)) => {
                shard.pause(cell);
                shared.start_reader(shard).inspect_err(|_| shard.resume(cell))
            }
        };
        state.relieved = started.is_ok();
        drop(state);
        if let Err(error) = started
            && !shared.is_stopping()
        {
            tracing::error!(%error, "no thread to go on for one whose handler waits");
        }
    }
}

/// Lets another thread go on with what the calling thread would keep from going on while it waits.
pub(crate) fn relieve() {
    // The post is cloned: starting a thread runs code that may come here again.
    if let Some(post) = POST.with_borrow(Clone::clone) {
        post.relieve();
    }
}

/// What the calling thread owes, if it is one that runs handlers.
pub(crate) fn with_owed<R>(call: impl FnOnce(&Owed) -> R) -> Option<R> {
    // The post is cloned: to append an answer may run code that comes here again.
    let post = POST.with_borrow(Clone::clone)?;
    Some(call(&post.owed))
}

/// Runs a wait of unknown length after letting another thread take over. A hook for the channels of
/// the API.
pub fn block_hook(wait: &mut dyn FnMut()) {
    relieve();
    crate::wait::around(wait);
}

/// Whether the calling thread is in a handler of the application, of any session.
pub fn is_calling() -> bool {
    CALLS.get() > 0 || POST.with_borrow(Option::is_some)
}

/// Calls a handler on a thread of the application. A panic ends in the log.
pub fn calling(call: impl FnOnce()) {
    CALLS.set(CALLS.get() + 1);
    guarded(call);
    CALLS.set(CALLS.get() - 1);
}

/// Calls foreign code. A panic in it ends here, in the log: the thread has other work to do.
#[inline]
pub(crate) fn guarded(call: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        tracing::error!("a handler of the application panicked");
    }
}

/// The posts of a node and their threads.
#[derive(Default)]
pub(crate) struct Crew {
    members: Mutex<Members>,
    /// Signalled when a post ends.
    left: Condvar,
    warned: AtomicBool,
    /// Threads started so far.
    pub(crate) started: AtomicU64,
}

/// What [`Crew::watch`] has seen: each post by address, and its turn.
#[derive(Default)]
pub(crate) struct Looks {
    latest: Vec<(usize, u64)>,
    before: Vec<(usize, u64)>,
}

impl Looks {
    /// The next look is the first one.
    pub(crate) fn forget(&mut self) {
        self.latest.clear();
    }
}

#[derive(Default)]
struct Members {
    posts: Vec<Arc<Post>>,
    threads: Vec<JoinHandle<()>>,
    /// Nobody is hired any more.
    closed: bool,
}

/// Takes a post off the list when its thread ends.
struct Leaving<'a>(&'a Crew, &'a Arc<Post>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        POST.set(None);
        self.0.lock().posts.retain(|post| !Arc::ptr_eq(post, self.1));
        self.0.left.notify_all();
    }
}

impl Crew {
    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that runs handlers.
    ///
    /// # Errors
    /// If the system gives no thread, or the node is closed.
    pub(crate) fn hire(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        name: &str,
        work: impl FnOnce(&Post) + Send + 'static,
    ) -> std::io::Result<()> {
        let post = Arc::new(Post {
            shared: Arc::downgrade(shared),
            state: Mutex::default(),
            turn: AtomicU64::new(0),
            callback: AtomicUsize::new(0),
            owed: Owed::default(),
        });
        let mut members = self.lock();
        if members.closed {
            return Err(std::io::Error::other("the node is closed"));
        }
        members.threads.retain(|thread| !thread.is_finished());
        let (crew, own) = (Arc::clone(self), Arc::clone(&post));
        let thread = shared.span.spawn(name, move || {
            POST.set(Some(Arc::clone(&own)));
            let leaving = Leaving(&crew, &own);
            work(&own);
            drop(leaving);
        })?;
        members.threads.push(thread);
        self.started.fetch_add(1, Ordering::Relaxed);
        members.posts.push(post);
        Ok(())
    }

    /// Whether any post is in the callback of the subscriber at `address`.
    pub(crate) fn is_calling(&self, address: usize) -> bool {
        self.lock().posts.iter().any(|post| post.callback.load(Ordering::Acquire) == address)
    }

    /// Relieves the posts that have been busy with the same thing since the last look. Returns
    /// whether any post is busy or was since then, which is a reason to look again.
    ///
    /// Cost: no allocation unless a post is relieved or there are more of them than ever.
    pub(crate) fn watch(&self, looks: &mut Looks) -> bool {
        std::mem::swap(&mut looks.before, &mut looks.latest);
        looks.latest.clear();
        let mut active = false;
        let mut kept = Vec::new();
        for post in &self.lock().posts {
            let turn = post.turn.load(Ordering::SeqCst);
            let look = (Arc::as_ptr(post) as usize, turn);
            let is_same = looks.before.contains(&look);
            active |= turn % 2 == 1 || !is_same && !looks.before.is_empty();
            if turn % 2 == 1 && is_same {
                kept.push(Arc::clone(post));
            }
            looks.latest.push(look);
        }
        // Without the lock: whoever takes over is hired.
        for post in kept {
            if !self.warned.swap(true, Ordering::Relaxed) {
                tracing::debug!("a handler keeps its thread; what it is fed by waits for it");
            }
            post.relieve();
        }
        active
    }

    /// Hires nobody any more and waits until all threads have ended, or until `deadline`.
    pub(crate) fn close(&self, deadline: Instant) {
        let mut members = self.lock();
        members.closed = true;
        let is_busy = |members: &mut Members| !members.posts.is_empty();
        members = wait_while(&self.members, &self.left, members, Some(deadline), is_busy);
        if is_busy(&mut members) {
            members.threads.clear();
            drop(members);
            tracing::warn!("closing does not wait any longer for handlers to return");
            return;
        }
        let threads = std::mem::take(&mut members.threads);
        drop(members);
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// As [`Crew::close`], without waiting.
    pub(crate) fn dismiss(&self) {
        let mut members = self.lock();
        members.closed = true;
        members.threads.clear();
    }
}
