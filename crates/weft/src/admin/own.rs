//! What a session tells itself of its neighbours: `@/<zid>/session/transport/…`.
//!
//! Every session answers its own queries there and tells its own subscribers what opens and closes, with or
//! without an admin space. Nothing of it leaves the session. Spec: 03 §9.
//!
//! Cost: nothing per message; a look at the session's subscribers for each transport and link that opens or
//! closes, and one at all neighbours for each query.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use serde_json::{Value, json};
use weft_keyexpr::KeyExpr;
use weft_node::Locality;
use weft_runtime::{IncomingQuery, PublisherSlot, Runtime, SampleQos};
use weft_wire::{EntityGlobalId, ZenohId};

use crate::core::Core;
use crate::encoding::Encoding;
use crate::error::Result;
use crate::info::{Event, EventKind, LinkInfo, Neighbour, TransportInfo};
use crate::key::Namespace;
use crate::publisher::{DEFAULT_QUALITY, Extras, with_message};
use crate::query::{Query, Shared};

/// What belongs to the session alone of an admin space.
pub(crate) struct OwnSpace {
    /// The queryable.
    id: u32,
    /// Knows whether anybody listens.
    publisher: Arc<PublisherSlot>,
    /// `@/<zid>/session/transport`.
    root: String,
}

impl OwnSpace {
    /// Declares it, to the session only.
    ///
    /// # Errors
    /// None: an identity is a chunk of a key.
    pub(crate) fn open(runtime: &Runtime, core: &Core) -> Result<()> {
        let root = format!("@/{}/session/transport", core.zid);
        let key = KeyExpr::new(format!("@/{}/session/**", core.zid))?;
        let id = runtime.next_entity();
        let publisher = runtime.declare_publisher(&key, Locality::SessionLocal);
        core.set_own_space(Self { id, publisher, root });
        runtime.declare_queryable(id, &key, true, Locality::SessionLocal);
        Ok(())
    }

    /// Answers a query if it is asked, where a handler of the session may wait for room.
    pub(crate) fn ask(&self, core: &Arc<Core>, incoming: &IncomingQuery<'_>) {
        if !incoming.queryables.contains(&self.id) {
            return;
        }
        let shared = Shared::new(incoming, incoming.key.clone(), &Namespace::default());
        let source = EntityGlobalId { zid: core.zid, eid: self.id };
        let (query, core) = (Query::new(Arc::new(shared), source, false), Arc::clone(core));
        incoming.handle.call(move || {
            if let (Some(space), Some(runtime)) = (core.own_space(), core.runtime()) {
                space.answer(&runtime, &query);
            }
        });
    }

    fn answer(&self, runtime: &Runtime, query: &Query) {
        let reply = |key: String, object: Value| {
            // It fails only for keys that were not asked for.
            let reply = query.reply(key, object.to_string());
            let _ = reply.encoding(Encoding::APPLICATION_JSON).wait();
        };
        for Neighbour { transport, links, .. } in
            runtime.neighbours().into_iter().map(Neighbour::new)
        {
            reply(self.transport_key(transport.zid()), transport_object(&transport));
            for link in links {
                reply(self.link_key(&link), link_object(&link, transport.is_qos()));
            }
        }
    }

    /// Tells those who listen that a transport has opened or closed.
    pub(crate) fn transport_event(&self, core: &Core, event: &Event<TransportInfo>) {
        let Event { kind, object } = event;
        self.tell(core, *kind, || self.transport_key(object.zid()), |_| transport_object(object));
    }

    /// The same for a link.
    pub(crate) fn link_event(&self, core: &Core, event: &Event<LinkInfo>) {
        let Event { kind, object } = event;
        let describe = |runtime: &Runtime| link_object(object, is_qos(runtime, object.zid()));
        self.tell(core, *kind, || self.link_key(object), describe);
    }

    fn tell(
        &self,
        core: &Core,
        kind: EventKind,
        key: impl FnOnce() -> String,
        describe: impl FnOnce(&Runtime) -> Value,
    ) {
        let Some(runtime) = core.runtime().filter(|it| it.is_matching(self.publisher.id())) else {
            return;
        };
        let Ok(key) = KeyExpr::new(key()) else { return };
        let payload = match kind {
            EventKind::Opened => Some(describe(&runtime).to_string().into()),
            EventKind::Closed => None,
        };
        // Not on this thread, which others wait for: a subscriber may block.
        core.call_in_order(self.publisher.id(), move |core| {
            let Some(runtime) = core.runtime() else { return };
            let is_value = payload.is_some();
            let encoding =
                if is_value { Encoding::APPLICATION_JSON } else { Encoding::ZENOH_BYTES };
            let how = SampleQos { destination: Locality::SessionLocal, ..DEFAULT_QUALITY };
            with_message(payload.as_ref(), &encoding, &Extras::default(), how.qos, |push| {
                runtime.put(&key, push, how);
            });
        });
    }

    fn transport_key(&self, zid: ZenohId) -> String {
        format!("{}/unicast/{zid}", self.root)
    }

    /// The same for a link as long as it lives, and another one for each that its transport has.
    fn link_key(&self, link: &LinkInfo) -> String {
        let mut hasher = DefaultHasher::new();
        (link.src(), link.dst()).hash(&mut hasher);
        format!("{}/link/{}", self.transport_key(link.zid()), hasher.finish())
    }
}

fn is_qos(runtime: &Runtime, zid: ZenohId) -> bool {
    runtime.inspect(|node| node.neighbours().any(|it| it.zid == zid && it.qos))
}

fn transport_object(transport: &TransportInfo) -> Value {
    json!({
        "zid": transport.zid().to_string(),
        "whatami": transport.whatami().as_str(),
        "is_qos": transport.is_qos(),
        "is_shm": transport.is_shm(),
    })
}

/// What a link is for is told where priorities have channels of their own: everything, here.
fn link_object(link: &LinkInfo, is_qos: bool) -> Value {
    let mut object = json!({
        "src": link.src(),
        "dst": link.dst(),
        "group": link.group(),
        "mtu": link.mtu(),
        "is_streamed": link.is_streamed(),
        "interfaces": link.interfaces(),
        "auth_identifier": link.auth_identifier(),
    });
    if is_qos {
        object["priorities"] = json!({ "start": "Control", "end": "Background" });
        let reliability = if link.is_reliable() { "Reliable" } else { "BestEffort" };
        object["reliability"] = json!(reliability);
    }
    object
}
