//! `weft admin explain`: where a sample goes, and why.

use clap::Args;
use serde_json::Value;
use weft::{KeyExpr, ZenohId};

use super::{Asking, silence};
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;

/// Explain where the samples of a key go
///
/// For samples that the node itself puts, or with --from those that come from one of its neighbours. JSON:
/// {"type":"explain","zid":…,"mode":…,"key":…,"from":…,"local":…,"hops":[…],"because":[…],"more":…,"unsure":[…],"rules":…}.
#[derive(Args, Debug)]
pub(super) struct Explain {
    /// The key
    key: KeyExpr,
    /// The neighbour of the node that the samples come from
    #[arg(long, value_name = "HEX")]
    from: Option<ZenohId>,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    limits: Limits,
}

impl Explain {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let session = self.asking.open(context, self.limits)?;
        let root = self.asking.root(&session)?;
        let from = self.from.map_or(String::new(), |from| format!("?from={from}"));
        let selector = format!("{}/route/explain/{}{from}", root.key, self.key);
        let answers = self.asking.ask_key(&session, &selector)?;
        let outcome = match answers.first() {
            None => {
                let version = root.value()["version"].to_string();
                let is_weft = version.starts_with("\"weft ");
                let other = format!("{} cannot explain routes: it runs {version}", root.zid());
                Err(if is_weft { silence(&session, self.asking.node) } else { Failure::Run(other) })
            }
            Some(answer) => {
                let mut value = answer.value();
                match value.get("error").and_then(Value::as_str) {
                    Some(error) => Err(Failure::Run(error.to_owned())),
                    None => {
                        value["type"] = "explain".into();
                        value["zid"] = answer.zid().into();
                        value["mode"] = answer.mode().into();
                        context.output.result(|| text(&value), || value.clone());
                        Ok(())
                    }
                }
            }
        };
        session.close().wait();
        outcome
    }
}

/// A member as text.
fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("?")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    let here = word(value, "zid");
    let mut lines = Vec::new();
    let source = match word(value, "from") {
        from if from == here => format!("put at {here}"),
        from => format!("that come to {here} from {from}"),
    };
    lines.push(format!("samples on {} {source}{}", word(value, "key"), rules(&value["rules"])));
    if value["local"] == true {
        lines.push("  are delivered here".to_owned());
    }
    let because = list(value, "because");
    for hop in list(value, "hops") {
        let peer = word(hop, "peer");
        let tree =
            hop["tree"].as_str().map_or(String::new(), |tree| format!(" on the tree of {tree}"));
        let (mode, region, sends) = (word(hop, "whatami"), word(hop, "region"), word(hop, "sends"));
        let rules = rules(&hop["rules"]);
        lines.push(format!("  go to {peer} ({mode}, {region}){tree} as {sends}{rules}"));
        let reasons = because.iter().filter(|reason| reason["next"] == peer);
        lines.extend(reasons.map(|reason| format!("    because of {}", subscription(reason))));
        if list(value, "unsure").iter().any(|it| it == peer) {
            lines.push("    because it has not told yet what it wants".to_owned());
        }
    }
    if list(value, "hops").is_empty() {
        lines.push("  go to no neighbour".to_owned());
    }
    let elsewhere = because.iter().filter(|reason| reason["next"].is_null());
    let elsewhere = elsewhere.filter(|reason| word(reason, "owner") != here);
    lines.extend(elsewhere.map(|reason| format!("  not by this node to {}", subscription(reason))));
    if let Some(more @ 1..) = value["more"].as_u64() {
        lines.push(format!("  and {more} more subscriptions"));
    }
    lines.join("\n")
}

fn subscription(reason: &Value) -> String {
    let (key, owner) = (word(reason, "subscriber"), word(reason, "owner"));
    format!("subscriber {key} of {owner} ({})", word(reason, "owner_mode"))
}

/// What rules ask, in words.
fn rules(rules: &Value) -> String {
    if rules.is_null() {
        return String::new();
    }
    if rules["allowed"] == false {
        return ", if access control did not deny it".to_owned();
    }
    let mut asked = Vec::new();
    if rules["rates"].as_u64() > Some(0) {
        asked.push("not too often".to_owned());
    }
    if let Some(max) = rules["size_max"].as_u64() {
        asked.push(format!("up to {max} bytes"));
    }
    if rules["qos_overwrites"].as_u64() > Some(0) {
        asked.push("with another QoS".to_owned());
    }
    format!(", {}", asked.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_explanation_is_told_in_sentences() {
        let value = json!({
            "zid": "a1", "key": "k", "from": "a1", "local": true, "rules": null, "more": 2, "unsure": [],
            "hops": [{"peer": "b2", "whatami": "router", "region": "north", "tree": "a1", "sends": "#1/x",
                "rules": {"allowed": true, "rates": 1, "size_max": 5, "qos_overwrites": 0}}],
            "because": [
                {"subscriber": "k/**", "owner": "c3", "owner_mode": "router", "next": "b2"},
                {"subscriber": "k", "owner": "a1", "owner_mode": "router", "next": null},
                {"subscriber": "*", "owner": "d4", "owner_mode": "peer", "next": null},
            ],
        });
        let expected = "samples on k put at a1\n  are delivered here\n  \
            go to b2 (router, north) on the tree of a1 as #1/x, not too often, up to 5 bytes\n    \
            because of subscriber k/** of c3 (router)\n  not by this node to subscriber * of d4 (peer)\n  \
            and 2 more subscriptions";
        assert_eq!(text(&value), expected);
    }
}
