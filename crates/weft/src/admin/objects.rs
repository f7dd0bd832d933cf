//! The node itself, its neighbours and their queues: the root object, `/faces`, `/queues`.

use serde_json::{Map, Value, json};
use weft_node::{DropCounts, FaceView, Flow, LinkWeights, MessageClass};
use weft_runtime::{LinkTraffic, Neighbour, Runtime, Traffic};

use super::{Asked, Space, region_name, stats};

/// Names of the priorities, most urgent first, as in `transport/link/tx/queue/size`.
pub(super) const PRIORITIES: [&str; 8] = crate::config::PRIORITIES;

impl Space {
    pub(super) fn answer_objects(&self, runtime: &Runtime, asked: Asked<'_>) {
        asked.json("", || self.root_object(runtime, asked.is_on("_stats")));
        asked.json("faces", || faces(runtime));
        asked.json("queues", || queues(runtime));
    }

    fn root_object(&self, runtime: &Runtime, with_stats: bool) -> Value {
        let metadata: Value = serde_json::from_str(&self.settings.metadata).unwrap_or_default();
        let locators: Vec<String> = runtime.locators().iter().map(ToString::to_string).collect();
        let mut traffic = if with_stats { runtime.traffic() } else { Vec::new() };
        let session = |neighbour: &Neighbour| {
            let mut object = session(runtime, neighbour);
            let known = traffic.iter().find(|it| it.face == neighbour.face);
            if let Some(traffic) = known {
                self.add_stats(&mut object, traffic);
            }
            object
        };
        let sessions: Vec<Value> = runtime.neighbours().iter().map(session).collect();
        let mut object = json!({
            "zid": self.zid.to_string(),
            "version": concat!("weft ", env!("CARGO_PKG_VERSION")),
            "metadata": metadata,
            "locators": locators,
            "plugins": null,
            "sessions": sessions,
        });
        if with_stats {
            traffic.extend(runtime.departed_traffic());
            let sized = &self.settings.stats;
            object["stats"] = stats::of_neighbours(&traffic, sized.enabled);
            object["stats_filtered"] = stats::filtered(&traffic, &sized.filters);
        }
        object
    }

    /// What went to a neighbour and came from it, for it and each of its links.
    fn add_stats(&self, session: &mut Value, traffic: &Traffic) {
        let own = std::slice::from_ref(traffic);
        session["stats"] = stats::of_neighbours(own, self.settings.stats.enabled);
        let links = session["links"].as_array_mut();
        for link in links.into_iter().flatten() {
            let same = |it: &&LinkTraffic| link["src"] == *it.src && link["dst"] == *it.dst;
            if let Some(of_link) = traffic.links.iter().find(same).map(stats::of_link) {
                link["stats"] = of_link;
            }
        }
    }
}

fn session(runtime: &Runtime, neighbour: &Neighbour) -> Value {
    let face = neighbour.face;
    let (region, weights) = runtime.inspect(|node| {
        let routing = node.routing();
        (routing.owner_region(weft_node::Owner::Face(face)), routing.link_weights(face))
    });
    let links = neighbour.links.iter().map(|it| json!({ "src": it.src, "dst": it.dst }));
    json!({
        "peer": neighbour.zid.to_string(),
        "whatami": neighbour.whatami.as_str(),
        "region": region_name(region),
        "shm": false,
        "links": links.collect::<Vec<_>>(),
        "weight": weights.map(weight),
    })
}

/// What both ends say, and what counts: the greater one.
fn weight(LinkWeights { own, remote }: LinkWeights) -> Value {
    let actual = own.max(remote).unwrap_or(weft_node::DEFAULT_WEIGHT);
    json!({ "src_weight": own, "dst_weight": remote, "actual_weight": actual })
}

/// Each neighbour with what it declared, what came from it and what went to it.
fn faces(runtime: &Runtime) -> Value {
    let views: Vec<FaceView> = runtime.inspect(|node| node.routing().face_views().collect());
    let faces = runtime.traffic().into_iter().filter_map(|traffic| {
        let view = views.iter().find(|view| view.face == traffic.face)?;
        Some(face(view, &traffic))
    });
    let [subscribers, queryables, tokens] = views.first().map_or([0; 3], |own| own.declared);
    let ntp64 = weft_runtime::wall_ntp64();
    json!({
        // When the counters were read, in milliseconds since the epoch.
        "at_ms": (ntp64 >> 32) * 1000 + (((ntp64 & 0xffff_ffff) * 1000) >> 32),
        "own": { "subscribers": subscribers, "queryables": queryables, "tokens": tokens },
        "faces": faces.collect::<Vec<_>>(),
    })
}

fn face(view: &FaceView, traffic: &Traffic) -> Value {
    let [subscribers, queryables, tokens] = view.declared;
    let sent = PRIORITIES.iter().zip(&traffic.queues);
    let sent: Map<String, Value> =
        sent.map(|(name, queue)| ((*name).to_owned(), queue.messages.into())).collect();
    let received = MessageClass::ALL.iter().zip(traffic.received.messages);
    let received: Map<String, Value> =
        received.map(|(class, count)| (class.as_str().to_owned(), count.into())).collect();
    json!({
        "peer": view.zid.to_string(),
        "whatami": view.whatami.as_str(),
        "region": region_name(view.region),
        "protocol": traffic.protocol,
        "declared": { "subscribers": subscribers, "queryables": queryables, "tokens": tokens },
        "interests": view.interests,
        "queries": view.queries,
        "tx": {
            "messages": traffic.sent.messages,
            "by_priority": sent,
            "batches": traffic.sent.batches,
            "bytes": traffic.sent.bytes,
            "queued_bytes": traffic.queues.iter().map(|queue| queue.bytes).sum::<usize>(),
            "dropped": dropped(traffic, Flow::Egress),
        },
        "rx": {
            "messages": traffic.received.messages.iter().sum::<u64>(),
            "by_kind": received,
            "batches": traffic.received.batches,
            "bytes": traffic.received.bytes,
            "dropped": dropped(traffic, Flow::Ingress),
        },
    })
}

/// How many messages were dropped in a direction, for each reason.
pub(super) fn drop_reasons(traffic: &Traffic, flow: Flow) -> Vec<(&'static str, u64)> {
    let DropCounts { access_control, downsampling, low_pass } = traffic.refused[flow as usize];
    let mut reasons = vec![
        ("access-control", access_control),
        ("downsampling", downsampling),
        ("low-pass", low_pass),
    ];
    if flow == Flow::Egress {
        reasons.push(("congestion", traffic.congested));
        reasons.push(("no-link", traffic.linkless));
    }
    reasons
}

fn dropped(traffic: &Traffic, flow: Flow) -> Value {
    let reasons = drop_reasons(traffic, flow).into_iter();
    reasons
        .map(|(reason, count)| (reason.to_owned(), Value::from(count)))
        .collect::<Map<_, _>>()
        .into()
}

/// What waits for each neighbour, by priority.
fn queues(runtime: &Runtime) -> Value {
    let sessions = runtime.traffic().into_iter().map(|traffic| {
        let queues = PRIORITIES.iter().zip(&traffic.queues).map(|(priority, queue)| {
            json!({
                "priority": priority,
                "bytes": queue.bytes,
                "batches": queue.batches,
                "capacity": queue.capacity,
            })
        });
        json!({
            "peer": traffic.zid.to_string(),
            "whatami": traffic.whatami.as_str(),
            "queues": queues.collect::<Vec<_>>(),
        })
    });
    json!({ "sessions": sessions.collect::<Vec<_>>() })
}
