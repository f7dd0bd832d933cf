//! YAML to a [`Value`]: one document, the core schema, anchors and aliases.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use crate::value::{DEPTH_MAX, Malformed, NODE_COUNT_MAX, Position, Value};

/// Decodes a text; null if there is no document in it.
pub(super) fn parse(text: &str) -> Result<Value, Malformed> {
    Builder::new(text, None).document()
}

/// Where in a text that parses the value at `path` starts; list elements are called by their index.
pub(super) fn position(text: &str, path: &[&str]) -> Option<Position> {
    let mut builder = Builder::new(text, Some(path));
    let _ = builder.document();
    builder.located
}

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// Values by the number of their anchor.
    anchors: BTreeMap<usize, Value>,
    node_count: usize,
    /// Where the value is that is being built.
    path: Vec<String>,
    wanted: Option<&'a [&'a str]>,
    located: Option<Position>,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str, wanted: Option<&'a [&'a str]>) -> Self {
        Self {
            parser: Parser::new_from_str(text),
            anchors: BTreeMap::new(),
            node_count: 0,
            path: Vec::new(),
            wanted,
            located: None,
        }
    }

    fn document(&mut self) -> Result<Value, Malformed> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(document.unwrap_or(Value::Null)),
                Event::DocumentStart(_) if document.is_some() => {
                    return Err(malformed("more than one document", span));
                }
                Event::DocumentStart(_) => {
                    let (event, span) = self.next()?;
                    document = Some(self.value(event, span)?);
                }
                _ => {}
            }
        }
    }

    /// The value that starts with `event`.
    fn value(&mut self, event: Event<'a>, span: Span) -> Result<Value, Malformed> {
        if self.wanted.is_some_and(|wanted| self.path == wanted) {
            self.located = Some(place(span));
        }
        self.count(1, span)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && !tag.is_some_and(|tag| is_text(&tag));
                let value = if plain { scalar(&text) } else { Value::from(&*text) };
                (value, anchor)
            }
            Event::SequenceStart(anchor, _) => (self.list(span)?, anchor),
            Event::MappingStart(anchor, _) => (self.map(span)?, anchor),
            Event::Alias(anchor) => {
                let Some(value) = self.anchors.get(&anchor).cloned() else {
                    return Err(malformed("an alias of a value that contains it", span));
                };
                self.count(count(&value), span)?;
                return Ok(value);
            }
            _ => return Err(malformed("expected a value", span)),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn list(&mut self, start: Span) -> Result<Value, Malformed> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Value::List(items));
            }
            let item =
                self.within(items.len().to_string(), start, |builder| builder.value(event, span));
            items.push(item?);
        }
    }

    fn map(&mut self, start: Span) -> Result<Value, Malformed> {
        let mut members = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Value::Map(members));
            }
            let Event::Scalar(key, ..) = event else {
                return Err(malformed("expected a name", span));
            };
            let value = self.within(key.to_string(), start, |builder| {
                let (event, span) = builder.next()?;
                builder.value(event, span)
            });
            members.push((Value::from(&*key), value?));
        }
    }

    /// Builds a member or an element of what started at `start`.
    fn within(
        &mut self,
        name: String,
        start: Span,
        build: impl FnOnce(&mut Self) -> Result<Value, Malformed>,
    ) -> Result<Value, Malformed> {
        self.path.push(name);
        if self.path.len() > DEPTH_MAX {
            return Err(malformed("nested too deeply", start));
        }
        let value = build(self);
        self.path.pop();
        value
    }

    fn count(&mut self, more: usize, span: Span) -> Result<(), Malformed> {
        self.node_count += more;
        if self.node_count > NODE_COUNT_MAX {
            return Err(malformed("too many values", span));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Malformed> {
        match self.parser.next_event() {
            Some(event) => event.map_err(|error| from_scan(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }
}

/// A plain scalar in the core schema of YAML 1.2.
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let radix = |prefix, radix| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, radix).ok().map(Value::Uint)
    };
    let number = Value::from_number(text.strip_prefix('+').unwrap_or(text));
    let number = number.or_else(|| radix("0x", 16)).or_else(|| radix("0o", 8));
    number.unwrap_or_else(|| Value::from(text))
}

fn is_text(tag: &Tag) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == "str"
}

fn count(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Map(members) => 1 + members.iter().map(|(_, value)| count(value)).sum::<usize>(),
        _ => 1,
    }
}

fn malformed(message: &str, span: Span) -> Malformed {
    Malformed { message: message.to_owned(), position: Some(place(span)) }
}

fn from_scan(error: &ScanError) -> Malformed {
    let start = Span::empty(*error.marker());
    malformed(error.info(), start)
}

fn place(span: Span) -> Position {
    Position { line: span.start.line(), column: span.start.col() + 1 }
}
