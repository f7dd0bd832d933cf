//! What rules can know of a transport, and whether an item of the rules is about it.
//!
//! Spec: 03 §8, common selectors; §8.1, subjects.

use alloc::string::String;
use alloc::vec::Vec;

use weft_wire::ZenohId;

use crate::rules::{Downsampling, LowPass, QosOverwrite, Subject};
use crate::words::{Flow, LinkProtocol};

/// What is known of the transport to one neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportFacts {
    /// The neighbour's identity.
    pub zid: ZenohId,
    /// Its links.
    pub links: Vec<LinkFacts>,
    /// The name that the neighbour logged in with.
    pub username: Option<String>,
    /// It is a group and not a neighbour: nothing is intercepted.
    pub multicast: bool,
}

/// What is known of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFacts {
    /// What it runs over.
    pub protocol: Option<LinkProtocol>,
    /// The interfaces of this node that it may use.
    pub interfaces: Vec<String>,
    /// The common name of the neighbour's certificate.
    pub cert_common_name: Option<String>,
}

impl LinkFacts {
    fn has_interface(&self, listed: Option<&[String]>) -> bool {
        listed.is_none_or(|listed| self.interfaces.iter().any(|own| listed.contains(own)))
    }

    fn has_protocol(&self, listed: Option<&[LinkProtocol]>) -> bool {
        is_listed(self.protocol.as_ref(), listed)
    }
}

impl TransportFacts {
    fn some_link(&self, is: impl Fn(&LinkFacts) -> bool) -> bool {
        self.links.iter().any(is)
    }

    fn every_link(&self, is: impl Fn(&LinkFacts) -> bool) -> bool {
        !self.links.is_empty() && self.links.iter().all(is)
    }
}

/// An item that may be about some transports and directions only.
pub(crate) trait Selective {
    /// Whether messages of this direction on this transport are its concern.
    fn selects(&self, facts: &TransportFacts, flow: Flow) -> bool;
}

impl Selective for Downsampling {
    fn selects(&self, facts: &TransportFacts, flow: Flow) -> bool {
        let (interfaces, protocols) = (self.interfaces.as_deref(), self.link_protocols.as_deref());
        flows(self.flows.as_deref(), flow)
            && (interfaces.is_none() || facts.every_link(|link| link.has_interface(interfaces)))
            && (protocols.is_none() || facts.some_link(|link| link.has_protocol(protocols)))
    }
}

impl Selective for QosOverwrite {
    fn selects(&self, facts: &TransportFacts, flow: Flow) -> bool {
        let (interfaces, protocols) = (self.interfaces.as_deref(), self.link_protocols.as_deref());
        flows(self.flows.as_deref(), flow)
            && is_listed(Some(&facts.zid), self.zids.as_deref())
            && (interfaces.is_none() || facts.every_link(|link| link.has_interface(interfaces)))
            && (protocols.is_none() || facts.some_link(|link| link.has_protocol(protocols)))
    }
}

impl Selective for LowPass {
    fn selects(&self, facts: &TransportFacts, flow: Flow) -> bool {
        let (interfaces, protocols) = (self.interfaces.as_deref(), self.link_protocols.as_deref());
        flows(self.flows.as_deref(), flow)
            && (interfaces.is_none() || facts.some_link(|link| link.has_interface(interfaces)))
            && (protocols.is_none() || facts.some_link(|link| link.has_protocol(protocols)))
    }
}

impl Subject {
    /// Whether the neighbour at the other end is this subject: one of its links has all the listed
    /// properties of a link. What is not known is never listed.
    pub(crate) fn is(&self, facts: &TransportFacts) -> bool {
        let interfaces = self.interfaces.as_deref();
        let protocols = self.link_protocols.as_deref();
        let names = self.cert_common_names.as_deref();
        let about_link = interfaces.is_some() || protocols.is_some() || names.is_some();
        let link = |link: &LinkFacts| {
            link.has_interface(interfaces)
                && link.has_protocol(protocols)
                && is_listed(link.cert_common_name.as_ref(), names)
        };
        is_listed(Some(&facts.zid), self.zids.as_deref())
            && is_listed(facts.username.as_ref(), self.usernames.as_deref())
            && (!about_link || facts.some_link(link))
    }
}

/// Whether a list of directions has this one; none is all.
pub(crate) fn flows(listed: Option<&[Flow]>, flow: Flow) -> bool {
    is_listed(Some(&flow), listed)
}

fn is_listed<T: PartialEq>(value: Option<&T>, listed: Option<&[T]>) -> bool {
    listed.is_none_or(|listed| value.is_some_and(|value| listed.contains(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::some_facts;

    fn link(protocol: LinkProtocol, interface: &str) -> LinkFacts {
        let interfaces = Vec::from([interface.into()]);
        LinkFacts { protocol: Some(protocol), interfaces, cert_common_name: None }
    }

    #[test]
    fn a_subject_needs_one_link_with_everything_and_a_wildcard_takes_the_unknown() {
        let links = Vec::from([link(LinkProtocol::Tcp, "eth0"), link(LinkProtocol::Tls, "lo")]);
        let facts = TransportFacts { links, ..some_facts() };
        let subject = Subject { interfaces: Some(Vec::from(["lo".into()])), ..Subject::default() };
        assert!(Subject::default().is(&facts));
        assert!(subject.is(&facts));
        let tcp = Some(Vec::from([LinkProtocol::Tcp]));
        assert!(!Subject { link_protocols: tcp, ..subject.clone() }.is(&facts));
        let tls = Some(Vec::from([LinkProtocol::Tls]));
        assert!(Subject { link_protocols: tls, ..subject.clone() }.is(&facts));
        let names = Some(Vec::from(["me".into()]));
        assert!(!Subject { usernames: names.clone(), ..Subject::default() }.is(&facts));
        assert!(!Subject { cert_common_names: names, ..subject }.is(&facts));
        assert!(Subject::default().is(&TransportFacts { links: Vec::new(), ..facts }));
    }

    #[test]
    fn interfaces_of_shaping_are_those_of_every_link_but_for_sizes() {
        let links = Vec::from([link(LinkProtocol::Tcp, "eth0"), link(LinkProtocol::Tls, "lo")]);
        let facts = TransportFacts { links, ..some_facts() };
        let lo = Some(Vec::from(["lo".into()]));
        let downsampling = Downsampling {
            id: None,
            interfaces: lo.clone(),
            link_protocols: Some(Vec::from([LinkProtocol::Tcp])),
            flows: Some(Vec::from([Flow::Egress])),
            messages: crate::MessageSet::DATA,
            rules: Vec::new(),
        };
        let low_pass = LowPass {
            id: None,
            interfaces: lo,
            link_protocols: Some(Vec::from([LinkProtocol::Tcp])),
            flows: None,
            messages: crate::MessageSet::DATA,
            key_exprs: Vec::new(),
            size_limit: 0,
        };
        assert!(!downsampling.selects(&facts, Flow::Egress));
        assert!(low_pass.selects(&facts, Flow::Ingress));
        let both = Some(Vec::from(["lo".into(), "eth0".into()]));
        let downsampling = Downsampling { interfaces: both, ..downsampling };
        assert!(downsampling.selects(&facts, Flow::Egress));
        assert!(!downsampling.selects(&facts, Flow::Ingress));
    }
}
