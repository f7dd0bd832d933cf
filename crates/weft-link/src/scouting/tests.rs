use super::*;

fn interface(name: &str, index: u32, addresses: &[&str]) -> Interface {
    Interface {
        name: name.into(),
        index,
        addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
        is_up: true,
        is_multicast: name != "lo",
        is_loopback: name == "lo",
    }
}

fn machine() -> Vec<Interface> {
    vec![
        interface("lo", 1, &["127.0.0.1", "::1"]),
        interface("eth0", 2, &["192.0.2.2", "192.0.2.3", "fe80::2"]),
        Interface { is_up: false, ..interface("eth1", 3, &["198.51.100.3"]) },
        Interface { is_multicast: false, ..interface("tun0", 4, &["198.51.100.4"]) },
        interface("wlan0", 5, &["203.0.113.5", "fe80::5"]),
        interface("v6only", 6, &["fe80::6"]),
    ]
}

/// The names and addresses that `selection` gives with the default IPv4 group.
fn selected(machine: &[Interface], selection: &str) -> Result<Vec<String>, LinkError> {
    let selected = select_from(machine, selection, &Group::default())?;
    Ok(selected.iter().map(|scout| format!("{} {}", scout.name(), scout.address())).collect())
}

#[test]
fn auto_is_every_network_that_is_up_and_multicast_capable() {
    assert_eq!(selected(&machine(), "auto").unwrap(), ["eth0 192.0.2.2", "wlan0 203.0.113.5"]);
    let group = Group::new("[ff02::224]:7446".parse().unwrap(), 1).unwrap();
    let names: Vec<_> = select_from(&machine(), "auto", &group)
        .unwrap()
        .into_iter()
        .map(|scout| scout.name)
        .collect();
    assert_eq!(names, ["eth0", "wlan0", "v6only"]);
}

#[test]
fn auto_without_a_network_is_loopback() {
    assert_eq!(selected(&machine()[..1], "auto").unwrap(), ["lo 127.0.0.1"]);
    assert_eq!(
        selected(&[machine().remove(0), machine().remove(2)], "auto").unwrap(),
        ["lo 127.0.0.1"]
    );
    assert!(
        matches!(selected(&[], "auto"), Err(LinkError::UnknownInterface { name, .. }) if name == "auto")
    );
}

#[test]
fn a_list_takes_names_and_addresses_each_interface_once() {
    let list = " wlan0, 192.0.2.3 ,eth0,,lo";
    assert_eq!(
        selected(&machine(), list).unwrap(),
        ["wlan0 203.0.113.5", "eth0 192.0.2.3", "lo 127.0.0.1"]
    );
}

#[test]
fn what_fits_no_interface_is_named() {
    for bad in ["eth9", "192.0.2.9", "v6only", "fe80::2", "", ","] {
        let list =
            if bad.is_empty() || bad == "," { bad.to_owned() } else { format!("eth0,{bad}") };
        let error = selected(&machine(), &list).unwrap_err();
        let LinkError::UnknownInterface { name, known } = &error else { panic!("{error:?}") };
        assert_eq!((name.as_str(), known.len()), (bad, 5), "{error}");
    }
}

#[test]
fn a_group_is_a_multicast_address() {
    let error = Group::new("192.0.2.1:7446".parse().unwrap(), 1).unwrap_err();
    assert_eq!(error, LinkError::Group { address: "192.0.2.1:7446".into() });
    assert!(Group::new("[ff02::224]:7446".parse().unwrap(), 1).is_ok());
}

/// 01 §2.4: the answer leaves from the socket whose address shares the most leading octets with the
/// asker.
#[test]
fn the_closest_socket_shares_the_most_leading_octets() {
    let loopback = select("127.0.0.1", &Group::default()).unwrap().remove(0);
    let sockets = ["10.1.2.3", "10.1.9.9", "192.0.2.2"].map(|address| {
        let mut socket = ScoutSocket::open(&Group::default(), loopback.clone()).unwrap();
        socket.interface.addresses = vec![address.parse().unwrap()];
        socket
    });
    let closest_to = |asker: &str| {
        closest(&sockets, asker.parse().unwrap()).unwrap().interface().address().to_string()
    };
    assert_eq!(closest_to("10.1.9.1"), "10.1.9.9");
    assert_eq!(closest_to("10.1.2.9"), "10.1.2.3");
    assert_eq!(closest_to("192.168.0.1"), "192.0.2.2");
    assert_eq!(closest_to("10.1.3.1"), "10.1.2.3", "the first one of equals");
    assert_eq!(closest_to("::1"), "10.1.2.3", "another IP version shares nothing");
    assert!(closest(&[], "10.1.2.3".parse().unwrap()).is_none());
}
