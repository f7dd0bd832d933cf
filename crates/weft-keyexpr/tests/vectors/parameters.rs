//! The golden vectors of parameters and selectors.

use crate::{rows, text};
use weft_keyexpr::{ParameterError, Parameters, ParametersView, Selector, SelectorView};

#[test]
fn reading() {
    let rows = rows("parameters", "parse");
    assert_eq!(rows.len(), 40);
    for row in &rows {
        let view = ParametersView::new(text(row, "in"));
        assert_eq!(view.as_str(), row["str"], "{row}");
        assert_eq!(view.is_empty(), row["empty"], "{row}");
        assert_eq!(serde_json::json!(view.iter().collect::<Vec<_>>()), row["items"], "{row}");
        assert_eq!(view.is_ordered(), row["ordered"], "{row}");
        assert_eq!(serde_json::json!(view.get("a")), row["get_a"], "{row}");
        assert_eq!(
            serde_json::json!(view.values("a").collect::<Vec<_>>()),
            row["values_a"],
            "{row}"
        );
        assert_eq!(view.contains("a"), row["has_a"], "{row}");
        assert_eq!(Parameters::from(text(row, "in").to_owned()).as_view(), view, "{row}");
    }
}

/// The operations are written as `insert a=9`, `insert b='x;y=1'`, `remove b`, `extend b=3;c=4`,
/// `extend {a:7}`.
#[test]
fn mutations() {
    let rows = rows("parameters", "mutate");
    assert_eq!(rows.len(), 13);
    for row in &rows {
        let mut parameters = Parameters::from(text(row, "in"));
        let (verb, argument) = text(row, "op").split_once(' ').unwrap();
        let returned = match verb {
            "insert" => {
                let unquote = |text: &str| text.trim_matches('\'').to_owned();
                let (name, value) =
                    argument.split_once('=').map(|(n, v)| (unquote(n), unquote(v))).unwrap();
                let refusal =
                    value.find(';').map(|offset| ParameterError::ValueSeparator { offset });
                assert_eq!(parameters.clone().insert(&name, &value).err(), refusal, "{row}");
                parameters.insert_raw(&name, &value)
            }
            "remove" => parameters.remove(argument),
            "extend" => {
                let other = argument.trim_matches(['{', '}']).replace(':', "=");
                parameters.extend(ParametersView::new(&other));
                None
            }
            other => panic!("unknown operation {other}"),
        };
        assert_eq!(returned.as_deref(), row["returned"].as_str(), "{row}");
        assert_eq!(parameters.as_str(), row["str"], "{row}");
    }
}

#[test]
fn selectors() {
    let rows = rows("parameters", "selectors");
    assert_eq!(rows.len(), 12);
    for row in &rows {
        match SelectorView::parse(text(row, "in")) {
            Ok(view) => {
                assert_eq!(view.key_expr.as_str(), row["key_expr"], "{row}");
                assert_eq!(view.parameters.as_str(), row["parameters"], "{row}");
                assert_eq!(Selector::from(view).to_string(), row["str"], "{row}");
            }
            Err(_) => assert_eq!(row["error"], "key_expr", "{row}"),
        }
    }
}
