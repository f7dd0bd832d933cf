//! The machine's network interfaces and their addresses.
//!
//! Not here: which of them scouting uses (`scouting`). The list comes from `getifaddrs(3)` through
//! the crate of the same name: the smallest safe way to addresses *and* flags (rtnetlink by hand is
//! Linux only and ten times the code; `if-addrs` has no flags; `nix` brings five crates).
//! Interfaces without an IP address are not listed.

use std::net::IpAddr;

use getifaddrs::InterfaceFlags;

use crate::LinkError;

/// One network interface that has at least one IP address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name, for example `eth0`.
    pub name: String,
    /// The system's number for it, never 0.
    pub index: u32,
    /// Its IPv4 and IPv6 addresses in the system's order.
    pub addresses: Vec<IpAddr>,
    /// Enabled, and with a carrier.
    pub is_up: bool,
    /// Can send to groups.
    pub is_multicast: bool,
    /// Reaches this machine only.
    pub is_loopback: bool,
}

/// Lists the interfaces in the system's order. A handful of system calls for each address, so not
/// for a hot path.
///
/// # Errors
/// [`LinkError::Interfaces`] if the system does not list them.
pub fn interfaces() -> Result<Vec<Interface>, LinkError> {
    let entries =
        getifaddrs::getifaddrs().map_err(|error| LinkError::Interfaces { cause: error.into() })?;
    let mut interfaces: Vec<Interface> = Vec::new();
    for entry in entries {
        // An entry without an index is an interface that has vanished meanwhile.
        let (Some(address), Some(index)) = (entry.address.ip_addr(), entry.index) else {
            continue;
        };
        if let Some(known) = interfaces.iter_mut().find(|interface| interface.index == index) {
            known.addresses.push(address);
            continue;
        }
        interfaces.push(Interface {
            name: entry.name,
            index,
            addresses: vec![address],
            is_up: entry.flags.contains(InterfaceFlags::UP | InterfaceFlags::RUNNING),
            is_multicast: entry.flags.contains(InterfaceFlags::MULTICAST),
            is_loopback: entry.flags.contains(InterfaceFlags::LOOPBACK),
        });
    }
    Ok(interfaces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_listed_once_with_its_address() {
        let interfaces = interfaces().unwrap();
        let loopback: Vec<_> =
            interfaces.iter().filter(|interface| interface.is_loopback).collect();
        assert_eq!(loopback.len(), 1);
        assert!(loopback[0].is_up && loopback[0].index != 0);
        assert!(loopback[0].addresses.contains(&IpAddr::from([127, 0, 0, 1])));
    }
}
