//! The admin space: what an operator asks a node and tells it, at `@/<zid>/<mode>`.
//!
//! A queryable and a subscriber of the session itself, which hand what they get to one thread: a look at a
//! large node takes its time, and the thread that reads a link has none. Here is the way in; what is
//! answered is in `objects`, `stats`, `declared`, `network`, `explain` and `metrics`, what is changed in `write`.
//! What every session tells itself is in `own`.
//!
//! Spec: 03 §9. Limits: [`TASKS_MAX`] queries and writes wait; a query beyond ends without a reply, a write
//! beyond is ignored, and both are logged.

mod declared;
mod explain;
mod metrics;
mod network;
mod objects;
mod own;
mod stats;
mod write;

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Weak};

use weft_keyexpr::KeyExpr;
use weft_node::{Locality, Region};
use weft_runtime::{Runtime, SampleView};
use weft_wire::ZenohId;

use crate::config::{Adminspace, Config, Stats};
use crate::core::Core;
use crate::encoding::Encoding;
use crate::error::Result;
use crate::query::Query;

pub(crate) use self::own::OwnSpace;

/// Queries and writes that wait for their turn.
const TASKS_MAX: usize = 64;

/// Bytes of a value that is written, at most.
const VALUE_LEN_MAX: usize = 1 << 20;

/// What the thread of an admin space is given to do.
enum Task {
    Answer(Query),
    Write(Write),
    End,
}

/// A sample on a key below `config`.
struct Write {
    key: KeyExpr,
    /// `None` is a deletion.
    value: Option<String>,
}

/// What a node says of itself and lets others say.
pub(crate) struct AdminSettings {
    /// What the node was opened with, and what was written since.
    pub(crate) config: Config,
    pub(crate) adminspace: Adminspace,
    /// Anything about the node, as JSON.
    pub(crate) metadata: String,
    /// Which sizes of payloads count.
    pub(crate) stats: Stats,
}

/// The way to the thread of an admin space.
pub(crate) struct Admin {
    /// The queryable.
    id: u32,
    tasks: SyncSender<Task>,
}

impl Admin {
    /// Declares the admin space of a node.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(crate) fn open(runtime: &Arc<Runtime>, core: &Core, settings: AdminSettings) -> Result<()> {
        let root = format!("@/{}/{}", core.zid, settings.config.mode());
        let (tasks, waiting) = sync_channel(TASKS_MAX);
        let space =
            Space { runtime: Arc::downgrade(runtime), zid: core.zid, root: root.clone(), settings };
        let run = move || space.run(&waiting);
        runtime.span().spawn("weft-admin", run).map_err(weft_runtime::OpenError::Resources)?;
        let (id, subscriber) = (runtime.next_entity(), runtime.next_entity());
        core.set_admin(Arc::new(Self { id, tasks: tasks.clone() }));
        runtime.declare_queryable(id, &KeyExpr::new(format!("{root}/**"))?, false, Locality::Any);
        let written = KeyExpr::new(format!("{root}/config/**"))?;
        let write = move |sample: &SampleView<'_>| write(&tasks, sample);
        runtime.declare_subscriber_as(subscriber, &written, Locality::Any, Box::new(write));
        Ok(())
    }

    /// Whether a queryable is that of the admin space.
    pub(crate) const fn is_asked(&self, queryable: u32) -> bool {
        self.id == queryable
    }

    /// Has a query answered. It ends at once if there are too many.
    pub(crate) fn ask(&self, query: Query) {
        if let Err(TrySendError::Full(_)) = self.tasks.try_send(Task::Answer(query)) {
            tracing::warn!("too many queries about this node: one is not answered");
        }
    }

    /// Ends the thread, once the runtime is closed. It is not waited for: it may be in a handler of the
    /// application, to which it tells an answer.
    pub(crate) fn close(&self) {
        // If there is no room, what is there makes it look.
        let _ = self.tasks.try_send(Task::End);
    }
}

/// Hands a sample to the thread, on the one that received it.
fn write(tasks: &SyncSender<Task>, sample: &SampleView<'_>) {
    let key = sample.key.clone();
    let value = match sample.payload() {
        None => None,
        Some(payload) if payload.len() > VALUE_LEN_MAX => {
            return tracing::warn!(%key, "ignoring a value of more than {VALUE_LEN_MAX} bytes");
        }
        Some(payload) => match str::from_utf8(payload) {
            Ok(text) => Some(text.to_owned()),
            Err(_) => return tracing::warn!(%key, "ignoring a value that is no text"),
        },
    };
    if let Err(TrySendError::Full(_)) = tasks.try_send(Task::Write(Write { key, value })) {
        tracing::warn!("too many writes to the configuration: one is ignored");
    }
}

/// What the thread works with.
struct Space {
    runtime: Weak<Runtime>,
    zid: ZenohId,
    /// `@/<zid>/<mode>`.
    root: String,
    settings: AdminSettings,
}

impl Space {
    fn run(mut self, tasks: &Receiver<Task>) {
        while let Ok(task) = tasks.recv() {
            let Some(runtime) = self.runtime.upgrade().filter(|it| !it.is_closed()) else { return };
            match task {
                Task::Answer(query) if self.settings.adminspace.read => {
                    self.answer(&runtime, &query);
                }
                Task::Answer(_) => {}
                Task::Write(write) => self.write(&runtime, &write),
                Task::End => return,
            }
        }
    }

    fn answer(&self, runtime: &Runtime, query: &Query) {
        let asked = Asked { query, root: &self.root };
        self.answer_objects(runtime, asked);
        self.answer_metrics(runtime, asked);
        self.answer_declared(runtime, asked);
        network::answer(runtime, asked);
        explain::answer(runtime, asked);
        self.answer_config(asked);
    }
}

/// A query, and what belongs to its answer.
#[derive(Clone, Copy)]
struct Asked<'a> {
    query: &'a Query,
    root: &'a str,
}

impl Asked<'_> {
    /// The key of an object if it is asked for.
    fn key(self, suffix: &str) -> Option<KeyExpr> {
        let slash = if suffix.is_empty() { "" } else { "/" };
        let key = KeyExpr::new(format!("{}{slash}{suffix}", self.root)).ok()?;
        key.intersects(self.query.key_expr().as_ke()).then_some(key)
    }

    /// Whether anything below a part of the space may be asked for. Verbatim chunks match nothing but
    /// themselves, so that one that is asked for is looked for in the text.
    fn section(self, section: &str) -> bool {
        let asked = self.query.key_expr();
        self.key(&format!("{section}/**")).is_some()
            || asked.as_str().contains(&format!("/{section}/"))
    }

    /// A parameter that switches something off.
    fn is_off(self, parameter: &str) -> bool {
        self.query.parameters().get(parameter) == Some("false")
    }

    /// A parameter that switches something on.
    fn is_on(self, parameter: &str) -> bool {
        self.query.parameters().get(parameter) == Some("true")
    }

    fn reply(self, key: KeyExpr, encoding: Encoding, payload: impl Into<crate::ZBytes>) {
        // It fails only for keys outside of the query.
        let sent = self.query.reply(&key, payload).encoding(encoding).wait();
        debug_assert!(sent.is_ok(), "{key} was not asked for");
    }

    /// Answers with an object if it is asked for.
    fn json(self, suffix: &str, object: impl FnOnce() -> serde_json::Value) {
        if let Some(key) = self.key(suffix) {
            self.reply(key, Encoding::APPLICATION_JSON, object().to_string());
        }
    }
}

/// What a region is called.
fn region_name(region: Region) -> String {
    match region {
        Region::Local => "local".to_owned(),
        Region::North => "north".to_owned(),
        Region::South(index, mode) => format!("south:{index}:{mode}"),
    }
}
