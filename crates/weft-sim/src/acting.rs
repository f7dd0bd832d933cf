//! After each call into a node: what it wants done is done, what it reports is taken in.

use std::collections::BTreeSet;

use weft_node::{FaceId, Node, NodeConfig, NodeEvent, ScoutTo};
use weft_wire::{CloseReason, WhatAmI, ZenohId};

use crate::check::subscription::{self, Receipt};
use crate::driver::{Action, Driver};
use crate::fact::{Fact, PutId, Sample};
use crate::host::{Opening, Running};
use crate::network::{End, HostId, host_at};
use crate::sim::{Due, Sim, TokenChange};

impl Running {
    /// Whether it has something to send that nobody holds up.
    pub(crate) fn is_sending(&self) -> bool {
        self.driver
            .transports
            .values()
            .any(|transport| !transport.outbound.is_idle() && !transport.outbound.is_waiting())
    }
}

impl Sim {
    /// Calls into a running node and does what follows from it.
    pub(crate) fn call<T>(
        &mut self,
        host: HostId,
        call: impl FnOnce(&mut Node, &mut Driver) -> T,
    ) -> Option<T> {
        let now_us = self.now_us;
        let running = self.hosts[host].running.as_mut()?;
        running.driver.now_us = now_us;
        let result = call(&mut running.node, &mut running.driver);
        self.after(host);
        Some(result)
    }

    /// Does what a node wants done, until it wants nothing more.
    pub(crate) fn after(&mut self, host: HostId) {
        while let Some(running) = self.hosts[host].running.as_mut() {
            let driver = &mut running.driver;
            driver.now_us = self.now_us;
            let refused = std::mem::take(&mut driver.unresponsive);
            for face in refused {
                let reason = CloseReason::UNRESPONSIVE;
                running.node.close_neighbour(self.now_us, face, reason, "takes nothing", driver);
            }
            let events = std::mem::take(&mut driver.events);
            let facts = std::mem::take(&mut driver.facts);
            let actions = std::mem::take(&mut driver.actions);
            if events.is_empty() && facts.is_empty() && actions.is_empty() {
                break;
            }
            for action in actions {
                self.act(host, action);
            }
            for fact in facts {
                self.take_fact(host, fact);
            }
            for event in events {
                self.take_event(host, event);
            }
        }
        self.flush(host);
        self.give_up_stuck(host);
        self.check_memory(host);
        self.set_alarm(host);
    }

    fn act(&mut self, host: HostId, action: Action) {
        match action {
            Action::Write(end, bytes) => self.write(end, &bytes),
            Action::Close(end) => self.close_end(end),
            Action::Dial(dial, endpoints) => {
                self.trace.line(self.now_us, || format!("{host} dials {endpoints:?}"));
                let addresses: Vec<String> = endpoints
                    .iter()
                    .map(|endpoint| endpoint.locator().address().to_string())
                    .collect();
                self.start_attempt(host, dial, &addresses);
            }
            Action::Scout(bytes, to) => self.scout(host, &bytes, to),
        }
    }

    fn scout(&mut self, from: HostId, bytes: &[u8], to: ScoutTo) {
        let hearers: Vec<HostId> = match to {
            ScoutTo::Group => (0..self.hosts.len()).filter(|to| *to != from).collect(),
            ScoutTo::Asker(address) => host_at(address).into_iter().collect(),
        };
        for to in hearers {
            if self.network.is_cut(from, to) || self.hosts[to].running.is_none() {
                continue;
            }
            for at_us in self.network.datagram(self.now_us, &mut self.rng) {
                let bytes = bytes.to_vec();
                self.agenda.plan(at_us, Due::Datagram { to, from, bytes });
            }
        }
    }

    /// Writes to a connection, whether there is room or not.
    fn write(&mut self, end: End, bytes: &[u8]) {
        let (_, arrives_us) = self.network.write(self.now_us, end, bytes, true, &mut self.rng);
        if let Some(at_us) = arrives_us {
            self.agenda.plan(at_us, Due::Read(end.other()));
        }
        self.bounce(end);
    }

    /// Sends what is queued, as far as the connections take it.
    pub(crate) fn flush(&mut self, host: HostId) {
        let now_us = self.now_us;
        let Self { hosts, network, rng, agenda, .. } = self;
        let Some(running) = hosts[host].running.as_mut() else { return };
        let mut released = Vec::new();
        let mut written = Vec::new();
        let driver = &mut running.driver;
        for (face, transport) in &mut driver.transports {
            let outbound = &mut transport.outbound;
            let first = outbound.links.first().and_then(|link| driver.links.get_mut(link));
            let Some(link) = first else { continue };
            let end = link.end;
            let waited = outbound.is_waiting();
            let wrote = outbound.flush(|bytes| {
                let (len, arrives_us) = network.write(now_us, end, bytes, false, rng);
                if let Some(at_us) = arrives_us {
                    agenda.plan(at_us, Due::Read(end.other()));
                }
                len
            });
            if wrote {
                link.tx_us = now_us;
                written.push(end);
            }
            if waited && !outbound.is_waiting() {
                released.push(*face);
            }
        }
        self.release(host, &released);
        for end in written {
            self.bounce(end);
        }
    }

    /// Lets the readers go on that waited for room at these neighbours.
    fn release(&mut self, host: HostId, faces: &[FaceId]) {
        let now_us = self.now_us;
        let Self { hosts, agenda, .. } = self;
        let Some(running) = hosts[host].running.as_mut() else { return };
        for link in running.driver.links.values_mut().filter(|it| !it.held_up_by.is_empty()) {
            let transports = &running.driver.transports;
            link.held_up_by.retain(|face| !faces.contains(face) && transports.contains_key(face));
            if link.held_up_by.is_empty() {
                agenda.plan(now_us, Due::Read(link.end));
            }
        }
    }

    /// Closes neighbours that have taken nothing for too long.
    fn give_up_stuck(&mut self, host: HostId) {
        let now_us = self.now_us;
        let Some(running) = self.hosts[host].running.as_mut() else { return };
        let stuck: Vec<FaceId> = running
            .driver
            .transports
            .iter()
            .filter(|(_, it)| it.outbound.gives_up_us().is_some_and(|at_us| at_us <= now_us))
            .map(|(face, _)| *face)
            .collect();
        for face in stuck {
            self.trace.line(now_us, || format!("{host} gives up {face:?}"));
            self.disturbed = true;
            self.checks.deliveries.excuse();
            self.call(host, |node, driver| {
                let reason = CloseReason::UNRESPONSIVE;
                node.close_neighbour(now_us, face, reason, "takes nothing", driver);
            });
        }
    }

    fn set_alarm(&mut self, host: HostId) {
        let site = self.site(host);
        let Some(running) = self.hosts[host].running.as_mut() else { return };
        let stuck = running.driver.transports.values().filter_map(|it| it.outbound.gives_up_us());
        let timer = running.node.next_timeout().map(|(at_us, _)| at_us);
        let next = timer.into_iter().chain(stuck).min().map(|at_us| at_us.max(self.now_us));
        if next != running.wakes_at_us {
            running.wakes_at_us = next;
            if let Some(at_us) = next {
                self.agenda.plan(at_us, Due::Wake(site));
            }
        }
    }

    fn take_fact(&mut self, host: HostId, fact: Fact) {
        match fact {
            Fact::Sent { put, face } => {
                if let Some(to) = self.host_behind(host, face) {
                    let hosts = self.hosts.len();
                    if !self.checks.rerouting.excuses(put) {
                        let verdict = self.checks.circles.sent(put, host, to, hosts);
                        self.must(verdict);
                    }
                }
            }
            Fact::Delivered { put, subscribers, sample } => {
                for subscriber in subscribers {
                    self.deliver(host, put, subscriber, &sample);
                }
            }
            Fact::Asked { source, branch, key, target } => {
                self.session_asked(host, source, branch, &key, target);
            }
            Fact::Replied { query, reply } => self.reply_arrives(host, query, reply),
            Fact::QueryEnded { query } => self.query_ended(host, query),
        }
    }

    /// A subscriber gets a sample, under the eyes of the checkers.
    fn deliver(&mut self, host: HostId, put: PutId, subscriber: u32, sample: &Sample) {
        self.activity += 1;
        self.trace.line(self.now_us, || format!("{host} gets {put:?} on {}", sample.key));
        let stream = self.logs.puts.get(&put).map(|origin| origin.stream);
        let Some(running) = self.hosts[host].running.as_ref() else { return };
        let state = running.session.subscribers.get(&subscriber);
        let own = stream.is_some_and(|stream| stream.host == host);
        let verdict = subscription::check(Receipt {
            subscribed: state.map(|state| &state.key),
            origin: state.map_or_else(Default::default, |state| state.origin),
            published: &sample.key,
            own,
        });
        let handle = state.map(|state| state.handle);
        self.must(verdict);
        if let (Some(handle), Some(stream)) = (handle, stream) {
            if !self.checks.rerouting.excuses(put) {
                let verdict = self.checks.order.delivered(handle, stream, put);
                let verdict = verdict.and(self.checks.deliveries.delivered(put, handle));
                self.must(verdict);
            }
            self.logs.samples[handle].push(sample.clone());
        }
    }

    /// Whether a node and a neighbour may be members of one network.
    fn may_be_networked(&self, host: HostId, neighbour: ZenohId) -> bool {
        let is_client = |config: &NodeConfig| config.whatami == WhatAmI::Client;
        let mut hosts = self.hosts.iter().map(|host| &host.blueprint.config);
        !is_client(&self.hosts[host].blueprint.config)
            && hosts.any(|config| config.zid == neighbour && !is_client(config))
    }

    fn take_event(&mut self, host: HostId, event: NodeEvent) {
        self.trace.line(self.now_us, || format!("{host} {event:?}"));
        self.activity += 1;
        if let NodeEvent::NeighbourUp { zid, .. } | NodeEvent::NeighbourDown { zid, .. } = event
            && self.may_be_networked(host, zid)
        {
            self.checks.rerouting.changed(self.now_us);
        }
        let Some(running) = self.hosts[host].running.as_mut() else { return };
        match event {
            NodeEvent::Started => running.opening = Opening::Started,
            NodeEvent::StartFailed { reason } => running.opening = Opening::Failed(reason),
            NodeEvent::NeighbourUp { .. } | NodeEvent::NeighbourDown { .. } => running.epoch += 1,
            NodeEvent::Matching { id, matching } => {
                if let Some(sender) = running.session.senders.get_mut(&id) {
                    let told_news = std::mem::replace(&mut sender.matching, matching) != matching;
                    if !told_news {
                        self.fail("a matching status was told that is none");
                    }
                }
            }
            NodeEvent::Token { subscribers, key, alive } => {
                let told: BTreeSet<usize> = subscribers
                    .iter()
                    .filter_map(|id| running.session.token_subscribers.get(id))
                    .map(|subscriber| subscriber.handle)
                    .collect();
                for handle in told {
                    self.token_changes(handle, TokenChange { key: key.to_string(), alive });
                }
            }
            NodeEvent::TokenReply { query, key } => self.token_reply(host, query, &key),
            NodeEvent::TokenQueryFinal { query } => self.token_query_ended(host, query),
            NodeEvent::QueryTimeout { query } => self.query_timed_out(host, query),
            NodeEvent::QueryFinal { query } => self.query_ended(host, query),
            // What it means is asked of the node whenever it is to be known.
            NodeEvent::QueryablesKnown { .. } => {}
            NodeEvent::Warning { text } => running.warnings.push(text),
            other => self.fail(&format!("an event that nobody handles: {other:?}")),
        }
    }
}
