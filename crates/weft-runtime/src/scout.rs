//! The scouting sockets of a node, and scouting without a node.
//!
//! Spec: 01 §2.4.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use weft_link::LinkError;
use weft_link::scouting::{
    DATAGRAM_LEN_MAX, Group, ScoutInterface, ScoutListener, ScoutSocket, closest, select,
};
use weft_node::ScoutTo;
use weft_wire::{
    Decode, Encode, Hello, Reader, Scout, ScoutingMessage, VERSION, WhatAmIMatcher, Writer,
};

use crate::shared::Shared;

/// Where and how to scout.
#[derive(Clone, Debug)]
pub struct ScoutGroup {
    /// Group and port.
    pub address: SocketAddr,
    /// `auto`, or a comma-separated list of interface names or addresses.
    pub interface: String,
    /// How many routers a question passes.
    pub ttl: u8,
}

impl Default for ScoutGroup {
    fn default() -> Self {
        Self { address: ([224, 0, 0, 224], 7446).into(), interface: "auto".into(), ttl: 1 }
    }
}

/// One socket per interface to ask from, and one that hears what the group is asked.
#[derive(Default)]
pub(crate) struct ScoutSockets {
    sockets: Vec<ScoutSocket>,
    listener: Option<ScoutListener>,
}

impl ScoutSockets {
    pub(crate) fn open(group: &ScoutGroup, listen: bool) -> Result<Self, LinkError> {
        let at = Group::new(group.address, group.ttl)?;
        let interfaces: Vec<ScoutInterface> = select(&group.interface, &at)?;
        let listener = listen.then(|| ScoutListener::open(&at, &interfaces)).transpose()?;
        let sockets = interfaces
            .into_iter()
            .map(|interface| ScoutSocket::open(&at, interface))
            .collect::<Result<_, _>>()?;
        Ok(Self { sockets, listener })
    }

    /// The descriptors to poll; their order is that of [`ScoutSockets::receive`].
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = self.listener.iter().map(AsFd::as_fd);
        self.sockets.iter().map(AsFd::as_fd).chain(listener)
    }

    /// Takes the datagrams that wait at one of the sockets.
    pub(crate) fn receive(&self, index: usize, shared: &Arc<Shared>) {
        let mut buffer = vec![0; DATAGRAM_LEN_MAX];
        while let Some((len, from)) = self.receive_one(index, &mut buffer) {
            shared.scouting_datagram(&buffer[..len], from);
        }
    }

    fn receive_one(&self, index: usize, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        loop {
            let (len, from) = match self.sockets.get(index) {
                Some(socket) => socket.recv_from(buffer).ok()?,
                None => self.listener.as_ref()?.recv_from(buffer).ok()?,
            };
            // A question of this very node comes back from the group.
            if !self.sockets.iter().any(|socket| socket.is_sender(from)) {
                return Some((len, from));
            }
        }
    }

    pub(crate) fn send(&self, datagram: &[u8], to: ScoutTo) {
        match to {
            ScoutTo::Group => {
                for socket in &self.sockets {
                    if let Err(error) = socket.send_to_group(datagram) {
                        tracing::debug!(interface = socket.interface().name(), %error, "scouting");
                    }
                }
            }
            ScoutTo::Asker(asker) => {
                if let Some(socket) = closest(&self.sockets, asker.ip()) {
                    let _ = socket.send_to(datagram, asker);
                }
            }
        }
    }
}

/// Asks around without opening a node: calls `found` with every answer until the time is over or
/// `go_on`, asked twenty times a second, says no. The same node answers every question; the caller
/// tells repetitions apart.
///
/// # Errors
/// If no scouting socket could be opened.
pub fn scout(
    what: WhatAmIMatcher,
    group: &ScoutGroup,
    duration: Option<Duration>,
    mut go_on: impl FnMut() -> bool,
    mut found: impl FnMut(Hello),
) -> Result<(), LinkError> {
    const PERIOD_MIN: Duration = Duration::from_secs(1);
    const PERIOD_MAX: Duration = Duration::from_secs(8);
    let sockets = ScoutSockets::open(group, false)?;
    let mut question = [0; 32];
    let mut writer = Writer::new(&mut question);
    let scout = ScoutingMessage::Scout(Scout { version: VERSION, what, zid: None });
    scout.encode(&mut writer).expect("a question of a few bytes");
    let started = Instant::now();
    let (mut next, mut period) = (started, PERIOD_MIN);
    let mut buffer = vec![0; DATAGRAM_LEN_MAX];
    while go_on() && duration.is_none_or(|duration| started.elapsed() < duration) {
        if Instant::now() >= next {
            sockets.send(writer.written(), ScoutTo::Group);
            next += period;
            period = (period * 2).min(PERIOD_MAX);
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let mut fds: Vec<PollFd<'_>> =
            sockets.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        if poll(&mut fds, Some(&timeout)).is_err() {
            continue;
        }
        for index in 0..sockets.sockets.len() {
            while let Some((len, _)) = sockets.receive_one(index, &mut buffer) {
                if let Ok(ScoutingMessage::Hello(hello)) =
                    ScoutingMessage::decode(&mut Reader::new(&buffer[..len]))
                    && what.matches(hello.whatami)
                {
                    found(hello);
                }
            }
        }
    }
    Ok(())
}
