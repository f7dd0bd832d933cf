//! `region_name` and `gateway/south`.

use super::super::*;
use super::{error, json5, with};
use weft_node::{Gateway, NeighbourFilter, SouthRegion};
use weft_wire::WhatAmIMatcher;

fn remarks(remarks: Vec<Remark>) -> Vec<String> {
    remarks.iter().map(|Remark { path, text }| format!("{path}: {text}")).collect()
}

#[test]
fn regions_are_read_into_filters() {
    let effective = json5("{}").effective().unwrap();
    assert_eq!((effective.region_name, effective.gateway), (None, None));
    let config = json5(
        "{ region_name: 'main', gateway: { south: [{ filters: [ \
            { modes: ['peer'], interfaces: ['lo'], zids: ['a1'] }, \
            { region_names: ['main'], negated: true, zids: null } \
        ] }, {}] } }",
    );
    let effective = config.effective().unwrap();
    let filters = [
        NeighbourFilter {
            modes: Some(WhatAmIMatcher::from(WhatAmI::Peer)),
            interfaces: Some(vec!["lo".into()]),
            zids: Some(vec!["a1".parse().unwrap()]),
            ..NeighbourFilter::default()
        },
        NeighbourFilter {
            region_names: Some(vec!["main".into()]),
            negated: true,
            ..NeighbourFilter::default()
        },
    ];
    let south = vec![SouthRegion { filters: Some(filters.into()) }, SouthRegion { filters: None }];
    assert_eq!(effective.gateway, Some(Gateway { south }));
    assert_eq!(effective.region_name.as_deref(), Some("main"));
}

#[test]
fn what_is_wrong_with_a_region_is_said_where_it_is() {
    for (text, part) in [
        ("'manual'", "there is no `manual`; expected \"auto\" or a list of {filters}"),
        ("[{filter: []}]", "did you mean `gateway/south/0/filters`"),
        ("[{filters: [{mode: 'peer'}]}]", "did you mean `gateway/south/0/filters/0/modes`"),
        ("[{filters: [{modes: ['rooter']}]}]", "a mode is \"router\", \"peer\" or \"client\""),
        ("[{filters: [{negated: 1}]}]", "`gateway/south/0/filters/0/negated` is an integer"),
        (
            "[{filters: [{region_names: ['']}]}]",
            "it has 0 bytes; expected a list of names of 1 to 32",
        ),
        ("[{filters: [{zids: ['XY']}]}]", "`gateway/south/0/filters/0/zids/0`"),
        ("[{filters: {}}]", "`gateway/south/0/filters` is an object"),
    ] {
        let complaint = error(&format!("{{ gateway: {{ south: {text} }} }}"));
        assert!(complaint.contains(part), "{text}: {complaint}");
    }
    let name = "n".repeat(33);
    let complaint = error(&format!("{{ region_name: '{name}' }}"));
    assert!(
        complaint.contains("it has 33 bytes; expected a string of 1 to 32 bytes"),
        "{complaint}"
    );
}

#[test]
fn regions_are_explained_and_those_that_take_nobody_are_named() {
    let config = with(
        "gateway/south",
        "[{filters: [{modes: 'router|peer', region_names: ['a', 'b']}, {zids: ['a1'], negated: true}]}, \
          {filters: []}, {}, {filters: [{interfaces: ['lo']}]}]",
    );
    assert_eq!(
        remarks(config.explain_rules().unwrap()),
        [
            "gateway/south/0: serves all that are router or peer and are in region a or b; \
             or all but those that are a1",
            "gateway/south/1: serves nobody",
            "gateway/south/2: serves everybody",
            "gateway/south/3: serves all that use lo only",
        ]
    );
    assert_eq!(
        remarks(config.lint_rules().unwrap()),
        [
            "gateway/south/1: it takes nobody: leave `filters` out to take everybody",
            "gateway/south/3: it takes nobody: `gateway/south/2` takes everybody",
        ]
    );
}
