//! Who declared what: `/subscriber/<key>`, `/publisher/<key>`, `/queryable/<key>`, `/querier/<key>` and
//! `/token/<key>`.

use std::collections::BTreeMap;

use serde_json::json;
use weft_node::{Entity, Owner, Region};
use weft_runtime::Runtime;
use weft_wire::{WhatAmI, ZenohId};

use super::{Asked, Space};

/// Declarations that are looked at while the node is locked.
const PIECE_LEN: usize = 1000;

/// The owners of one key, by their modes.
#[derive(Default)]
struct Owners {
    routers: Vec<ZenohId>,
    peers: Vec<ZenohId>,
    clients: Vec<ZenohId>,
}

impl Owners {
    fn add(&mut self, (zid, mode): (ZenohId, WhatAmI)) {
        let list = match mode {
            WhatAmI::Router => &mut self.routers,
            WhatAmI::Peer => &mut self.peers,
            WhatAmI::Client => &mut self.clients,
        };
        if !list.contains(&zid) {
            list.push(zid);
        }
    }
}

const fn section(entity: Entity) -> &'static str {
    match entity {
        Entity::Subscriber => "subscriber",
        Entity::Publisher => "publisher",
        Entity::Queryable => "queryable",
        Entity::Querier => "querier",
        Entity::Token => "token",
    }
}

impl Space {
    /// Cost: all declarations of the kinds that are asked for, in pieces of [`PIECE_LEN`] under the
    /// node's lock; the answers are collected before they are sent.
    pub(super) fn answer_declared(&self, runtime: &Runtime, asked: Asked<'_>) {
        for entity in Entity::ALL {
            let name = section(entity);
            if !asked.section(name) {
                continue;
            }
            let mut found = BTreeMap::new();
            for owner in runtime.inspect(|node| node.routing().owners()) {
                self.collect(runtime, asked, entity, owner, &mut found);
            }
            for (suffix, Owners { routers, peers, clients }) in found {
                let texts =
                    |zids: Vec<ZenohId>| zids.iter().map(ToString::to_string).collect::<Vec<_>>();
                let object = || {
                    json!({
                        "routers": texts(routers), "peers": texts(peers), "clients": texts(clients),
                    })
                };
                asked.json(&suffix, object);
            }
        }
    }

    /// Adds what one owner has to the answer.
    fn collect(
        &self,
        runtime: &Runtime,
        asked: Asked<'_>,
        entity: Entity,
        owner: Owner,
        found: &mut BTreeMap<String, Owners>,
    ) {
        let identity = runtime.inspect(|node| {
            let routing = node.routing();
            Some((routing.identity(owner)?, routing.owner_region(owner), node.config().whatami))
        });
        let Some(((zid, mode), region, own_mode)) = identity else { return };
        // The session of a node is its client.
        let mode = if owner == Owner::LOCAL { WhatAmI::Client } else { mode };
        let is_served = matches!(region, Region::Local | Region::South(..));
        let is_declaration = !matches!(entity, Entity::Publisher | Entity::Querier);
        let mut rest = None;
        loop {
            let piece = runtime
                .inspect(|node| node.routing().owned(owner, entity, rest.as_ref(), PIECE_LEN));
            for key in piece.keys {
                let suffix = format!("{}/{key}", section(entity));
                if asked.key(&suffix).is_some() {
                    let owners = found.entry(suffix).or_default();
                    if is_served && is_declaration {
                        owners.add((self.zid, own_mode));
                    }
                    owners.add((zid, mode));
                }
            }
            rest = piece.rest;
            if rest.is_none() {
                return;
            }
        }
    }
}
