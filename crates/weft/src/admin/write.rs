//! What is changed while a node runs: `/config/<path>`, written with JSON5 and read as JSON.
//!
//! Only what takes effect at once can be written: [`CHANGEABLE`]. A value that does not fit is logged and
//! nothing has changed; nobody can be told, for a put has no answer. So that whoever writes can look, those
//! values can be read, which the reference does not offer.

use serde_json::Value;
use weft_runtime::Runtime;

use super::{Asked, Space, Write};
use crate::config::{Config, Effective};
use crate::encoding::Encoding;
use crate::settings;

/// The keys that may be written.
const CHANGEABLE: &[&str] = &[
    "connect/endpoints",
    "routing/router/linkstate/transport_weights",
    "qos/network",
    "downsampling",
    "low_pass_filter",
    "access_control/enabled",
    "access_control/default_permission",
    "access_control/rules",
    "access_control/subjects",
    "access_control/policies",
    "adminspace/permissions/read",
    "adminspace/permissions/write",
];

impl Space {
    pub(super) fn answer_config(&self, asked: Asked<'_>) {
        for path in CHANGEABLE {
            if let Some(key) = asked.key(&format!("config/{path}"))
                && let Ok(json) = self.settings.config.effective_json(path)
            {
                asked.reply(key, Encoding::APPLICATION_JSON, json);
            }
        }
    }

    /// Changes the configuration, or says in the log why not.
    pub(super) fn write(&mut self, runtime: &Runtime, write: &Write) {
        let key = write.key.as_str();
        let path = key.strip_prefix(&self.root).and_then(|rest| rest.strip_prefix("/config/"));
        let Some(path) = path.filter(|_| !write.key.is_wild()) else {
            return tracing::warn!(key, "ignoring a write that names no value of this node");
        };
        if !self.settings.adminspace.write {
            return tracing::warn!(
                path,
                "refusing to change the configuration: adminspace/permissions/write is off"
            );
        }
        match changed(&self.settings.config, path, write.value.as_deref()) {
            Ok((config, effective, paths)) => {
                self.apply(runtime, &effective, &paths);
                self.settings.config = config;
                tracing::info!(path, "the configuration has changed");
            }
            Err(error) => tracing::warn!(path, error, "ignoring a change of the configuration"),
        }
    }

    fn apply(&mut self, runtime: &Runtime, effective: &Effective, paths: &[&str]) {
        let is_changed = |key: &str| paths.iter().any(|path| path.starts_with(key));
        if ["qos/network", "downsampling", "low_pass_filter", "access_control/"]
            .into_iter()
            .any(is_changed)
        {
            runtime.set_rules(effective.rules.clone());
        }
        if is_changed("connect/endpoints") {
            runtime.set_dial_targets(settings::dial_targets(effective));
        }
        if is_changed("routing/router/linkstate/transport_weights") {
            runtime.set_weights(effective.weights.clone());
        }
        self.settings.adminspace = effective.adminspace;
    }
}

type Changed = (Config, Effective, Vec<&'static str>);

/// The configuration with another value at `path`, and the keys that differ.
fn changed(config: &Config, path: &str, value: Option<&str>) -> Result<Changed, String> {
    let mut new = config.clone();
    let done = match (path.rsplit_once('/'), value) {
        (Some((list, item)), value) if item.contains('=') => set_item(&mut new, list, item, value)?,
        (_, Some(text)) => new.insert_json5(path, text),
        (_, None) => new.remove(path),
    };
    done.map_err(|error| error.to_string())?;
    let paths: Vec<&str> = config.differences(&new).collect();
    if let Some(fixed) = paths.iter().find(|path| !CHANGEABLE.contains(path)) {
        return Err(format!("`{fixed}` cannot be changed while the node runs: restart it"));
    }
    let effective = new.effective().map_err(|error| error.to_string())?;
    Ok((new, effective, paths))
}

/// Replaces or appends the object of a list whose `field` is `value`, or takes it out.
fn set_item(
    config: &mut Config,
    list: &str,
    item: &str,
    value: Option<&str>,
) -> Result<Result<(), crate::config::ConfigError>, String> {
    let (field, wanted) = item.split_once('=').unwrap_or_default();
    let json = config.effective_json(list).map_err(|error| error.to_string())?;
    let mut items = match serde_json::from_str(&json) {
        Ok(Value::Array(items)) => items,
        Ok(Value::Null) => Vec::new(),
        _ => return Err(format!("`{list}` is no list")),
    };
    let is_it = |item: &Value| item.get(field).and_then(Value::as_str) == Some(wanted);
    let place = items.iter().position(is_it);
    match (value, place) {
        (Some(text), place) => {
            let new: Value = json5::from_str(text).map_err(|error| error.to_string())?;
            if !is_it(&new) {
                return Err(format!("the object must have `{field}: \"{wanted}\"`"));
            }
            match place {
                Some(place) => items[place] = new,
                None => items.push(new),
            }
        }
        (None, Some(place)) => drop(items.remove(place)),
        (None, None) => return Err(format!("no object of `{list}` has `{field}: \"{wanted}\"`")),
    }
    Ok(config.insert_json5(list, &Value::Array(items).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(changed: Result<Changed, String>, path: &str) -> String {
        changed.unwrap().0.json(path).unwrap()
    }

    #[test]
    fn only_what_takes_effect_can_be_changed() {
        let config = Config::default();
        let (_, effective, paths) =
            changed(&config, "adminspace/permissions", Some("{write: true}")).unwrap();
        assert!(effective.adminspace.write);
        assert_eq!(paths, ["adminspace/permissions/write"]);
        for (path, value, complaint) in [
            ("scouting/delay", Some("5"), "`scouting/delay` cannot be changed while the node runs"),
            (
                "adminspace",
                Some("{permissions: {read: false}, enabled: true}"),
                "`adminspace/enabled` cannot",
            ),
            ("downsampling", Some("{"), "value of `downsampling`"),
            ("low_pass_filter", Some("[{id: 'x'}]"), "low_pass_filter"),
            ("downsamplings", Some("[]"), "unknown key `downsamplings`"),
            ("access_control/enabled", Some("true"), "access_control/rules"),
        ] {
            let error = changed(&config, path, value).err().unwrap_or_default();
            assert!(error.contains(complaint), "{path}: {error}");
        }
    }

    #[test]
    fn an_object_of_a_list_is_found_by_a_field() {
        let rule = |id: &str, freq: u32| {
            format!(
                "{{id: '{id}', messages: ['put'], rules: [{{key_expr: 'a/**', freq: {freq}}}]}}"
            )
        };
        let mut config = Config::default();
        for (id, freq) in [("one", 1), ("two", 2), ("one", 3)] {
            let path = format!("downsampling/id={id}");
            config = changed(&config, &path, Some(&rule(id, freq))).unwrap().0;
        }
        let items: Vec<Value> =
            serde_json::from_str(&config.json("downsampling").unwrap()).unwrap();
        let told = |at: usize| (items[at]["id"].as_str(), items[at]["rules"][0]["freq"].as_u64());
        assert_eq!((told(0), told(1)), ((Some("one"), Some(3)), (Some("two"), Some(2))));
        assert_eq!(items.len(), 2);
        let left = json(changed(&config, "downsampling/id=one", None), "downsampling");
        assert!(left.contains("two") && !left.contains("one"), "{left}");
        let error = |path, value| changed(&config, path, value).err().unwrap();
        assert!(error("downsampling/id=none", None).contains("no object"));
        assert!(
            error("downsampling/id=one", Some("{id: 'two'}")).contains("must have `id: \"one\"`")
        );
        assert!(error("adminspace/id=one", Some("{}")).contains("is no list"));
    }
}
