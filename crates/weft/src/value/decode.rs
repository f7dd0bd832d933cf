//! JSON and JSON5 through serde, keeping only what a [`Shape`] wants.

use core::cell::Cell;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{DEPTH_MAX, Malformed, NODE_COUNT_MAX, Position, Shape, Value};

pub(super) fn json(text: &str, shape: &Shape) -> Result<Value, Malformed> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Wanted::root(shape, &Cell::new(0)).deserialize(&mut deserializer);
    let value = value.and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| {
        let position = Position { line: error.line(), column: error.column() };
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        Malformed { message, position: (error.line() > 0).then_some(position) }
    })
}

pub(super) fn json5(text: &str, shape: &Shape) -> Result<Value, Malformed> {
    let mut deserializer = json5::Deserializer::from_str(text);
    let value = Wanted::root(shape, &Cell::new(0)).deserialize(&mut deserializer);
    let value = value.map_err(|error| malformed(&error))?;
    // The crate's own check for what follows the value takes no seed. Asking for another value is as good.
    match (Locate { path: &[] }).deserialize(&mut deserializer) {
        Err(error) if error.code() == Some(json5::ErrorCode::EofParsingValue) => Ok(value),
        Err(error) => {
            Err(Malformed { message: "trailing characters".to_owned(), ..malformed(&error) })
        }
        Ok(()) => unreachable!("locating the end of a path fails, to tell the place"),
    }
}

/// Where in a JSON5 text the value at `path` starts; list elements are called by their index. `None` if it is not there.
pub(crate) fn json5_position(text: &str, path: &[&str]) -> Option<Position> {
    let mut deserializer = json5::Deserializer::from_str(text);
    let located = Locate { path }.deserialize(&mut deserializer);
    malformed(&located.err()?).position
}

fn malformed(error: &json5::Error) -> Malformed {
    let Some(position) = error.position() else {
        let message = error.to_string();
        return Malformed { message, position: None };
    };
    let message = error.to_string();
    Malformed {
        message: message.trim_end_matches(&format!(" at {position}")).to_owned(),
        position: Some(Position { line: position.line + 1, column: position.column + 1 }),
    }
}

/// Decodes one value; of what is not wanted, only the syntax and the depth count.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// `None`: nothing of this value.
    shape: Option<&'a Shape>,
    depth: usize,
    kept: &'a Cell<usize>,
}

impl<'a> Wanted<'a> {
    fn root(shape: &'a Shape, kept: &'a Cell<usize>) -> Self {
        let shape = Some(shape);
        Self { shape, depth: 0, kept }
    }

    fn is_whole(&self) -> bool {
        self.shape.is_some_and(Shape::is_whole)
    }

    /// Enters a list or a map, of which the part `shape` is wanted.
    fn child<E: Error>(self, shape: Option<&'a Shape>) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > DEPTH_MAX {
            return Err(E::custom(format_args!("nested deeper than {DEPTH_MAX}")));
        }
        Ok(Self { shape, depth, ..self })
    }

    fn count<E: Error>(self) -> Result<(), E> {
        self.kept.set(self.kept.get() + 1);
        if self.kept.get() > NODE_COUNT_MAX {
            return Err(E::custom(format_args!("more than {NODE_COUNT_MAX} values")));
        }
        Ok(())
    }

    fn scalar(self, value: impl FnOnce() -> Value) -> Value {
        if self.is_whole() { value() } else { Value::Null }
    }
}

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.shape.is_some() {
            self.count()?;
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(self.scalar(|| Value::Bool(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(self.scalar(|| Value::Uint(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(self.scalar(|| match u64::try_from(value) {
            Ok(value) => Value::Uint(value),
            Err(_) => Value::Nint(!value as u64), // `!n` is `-1 - n`, not negative here
        }))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(self.scalar(|| Value::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(self.scalar(|| Value::from(value)))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(self.scalar(|| Value::Text(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let element = self.child(self.shape.and_then(Shape::elements))?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(element)? {
            if element.shape.is_some() {
                items.push(item);
            }
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        while let Some(wanted) = map.next_key_seed(Key { shape: self.shape })? {
            let member = self.child(wanted.as_ref().map(|(_, shape)| *shape))?;
            let value = map.next_value_seed(member)?;
            if let Some((name, _)) = wanted {
                members.push((Value::Text(name), value));
            }
        }
        Ok(Value::Map(members))
    }
}

/// A key of a map with the given shape: its name and what is wanted of its value, or `None` for nothing.
struct Key<'a> {
    shape: Option<&'a Shape>,
}

impl<'de, 'a> DeserializeSeed<'de> for Key<'a> {
    type Value = Option<(String, &'a Shape)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Key<'a> {
    type Value = Option<(String, &'a Shape)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let wanted = self.shape.and_then(|shape| shape.member(name));
        Ok(wanted.map(|shape| (name.to_owned(), shape)))
    }
}

/// Fails at the value at the end of the path, so that the parser tells its place; succeeds if there is none.
///
/// Only for texts that have been decoded before: what is not on the path is skipped without limits.
struct Locate<'a> {
    path: &'a [&'a str],
}

impl<'de> DeserializeSeed<'de> for Locate<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values on the way that are neither lists nor maps fail too: the path ends there.
impl<'de> Visitor<'de> for Locate<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something else")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let (first, path) = self.path.split_first().ok_or_else(|| A::Error::custom("here"))?;
        let skipped = first.parse().unwrap_or(usize::MAX);
        for _ in 0..skipped {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        list.next_element_seed(Locate { path })?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (first, path) = self.path.split_first().ok_or_else(|| A::Error::custom("here"))?;
        while let Some(key) = map.next_key::<String>()? {
            if key == *first {
                map.next_value_seed(Locate { path })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
