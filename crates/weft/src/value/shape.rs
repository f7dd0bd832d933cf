//! Which parts of a value are wanted: a set of paths as a tree.

use super::Value;

/// One step down from a list or a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the member of this name.
    Member(String),
    /// To the element with this index; negative ones count from the end.
    Index(i64),
    /// To every element.
    Elements,
}

/// A set of paths. Everything at the end of a path is wanted, and of what lies on the way only the frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    whole: bool,
    members: Vec<(String, Shape)>,
    elements: Option<Box<Shape>>,
}

impl Shape {
    /// Everything is wanted.
    pub(crate) fn whole() -> &'static Self {
        static WHOLE: Shape = Shape { whole: true, members: Vec::new(), elements: None };
        &WHOLE
    }

    /// Adds what lies at the end of `path`. Of overlapping paths the shorter one counts. An index wants every element,
    /// since elements would change their places if others were left out.
    pub(crate) fn add(&mut self, path: &[Step]) {
        if self.whole {
            return;
        }
        match path.split_first() {
            None => self.clone_from(Self::whole()),
            Some((Step::Member(name), rest)) => self.make_member(name).add(rest),
            Some((Step::Index(_) | Step::Elements, rest)) => {
                self.elements.get_or_insert_default().add(rest);
            }
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    pub(crate) fn has_members(&self) -> bool {
        self.whole || !self.members.is_empty()
    }

    /// What is wanted of the member `name`; `None` for nothing.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        if self.whole {
            return Some(self);
        }
        let found = self.members.iter().find(|(key, _)| key == name);
        found.map(|(_, shape)| shape)
    }

    /// As [`member`](Self::member) for a key of a map, which need not be text in CBOR.
    pub(crate) fn member_of(&self, key: &Value) -> Option<&Self> {
        match key {
            _ if self.whole => Some(self),
            Value::Text(name) => self.member(name),
            _ => self.member(&key.as_integer()?.to_string()),
        }
    }

    /// What is wanted of each element of a list; `None` for nothing.
    pub(crate) fn elements(&self) -> Option<&Self> {
        if self.whole {
            return Some(self);
        }
        self.elements.as_deref()
    }

    fn make_member(&mut self, name: &str) -> &mut Self {
        let index = match self.members.iter().position(|(key, _)| key == name) {
            Some(index) => index,
            None => {
                self.members.push((name.to_owned(), Self::default()));
                self.members.len() - 1
            }
        };
        &mut self.members[index].1
    }
}
