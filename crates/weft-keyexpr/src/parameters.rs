//! The parameters of a query: `name=value;name=value`.
//!
//! Any text is accepted and nothing is decoded. Trailing `;`, `=` and `|` are dropped when
//! parameters are made from text; empty entries are skipped when reading and disappear when the
//! text is rebuilt. Spec: 04 §10.

use crate::{TimeRange, TimeRangeError};
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// The time range that the replies are asked for, as a [`TimeRange`].
pub const PARAMETER_TIME: &str = "_time";
/// If present, with any value, replies may use keys that do not intersect the query.
pub const PARAMETER_ANY_KEY: &str = "_anyke";
/// At most so many samples from each cache that answers.
pub const PARAMETER_MAX: &str = "_max";
/// The wanted source sequence numbers, as an [`SnRange`](crate::SnRange).
pub const PARAMETER_SN: &str = "_sn";
/// If present, the HTTP gateway returns the payload of the first reply as it is.
pub const PARAMETER_RAW: &str = "_raw";

/// Borrowed parameters. Reading them never allocates; each question walks over the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ParametersView<'a>(&'a str);

impl<'a> ParametersView<'a> {
    /// Takes any text, without its trailing `;`, `=` and `|`.
    pub fn new(text: &'a str) -> Self {
        Self(text.trim_end_matches([';', '=', '|']))
    }

    /// The text.
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Whether the text is empty.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Names and values, in order, with duplicates. The value is empty where there is no `=`.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone {
        self.0
            .split(';')
            .filter(|entry| !entry.is_empty())
            .map(|entry| entry.split_once('=').unwrap_or((entry, "")))
    }

    /// The first value of `name`.
    pub fn get(self, name: &str) -> Option<&'a str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The items of the first value of `name`, which `|` separates. None if absent; one, empty, if
    /// the value is empty.
    pub fn values(self, name: &str) -> impl Iterator<Item = &'a str> {
        self.get(name).into_iter().flat_map(|value| value.split('|'))
    }

    /// Whether there is an entry `name`.
    pub fn contains(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether the names are in non-decreasing byte order.
    pub fn is_ordered(self) -> bool {
        self.iter().is_sorted_by_key(|(name, _)| name)
    }

    /// The time range asked for, if any.
    pub fn time_range(self) -> Option<Result<TimeRange, TimeRangeError>> {
        self.get(PARAMETER_TIME).map(TimeRange::parse)
    }
}

/// Owned parameters.
///
/// ```
/// use weft_keyexpr::Parameters;
///
/// let mut parameters = Parameters::from("unit=C;place=hall1|hall2");
/// assert_eq!(parameters.get("unit"), Some("C"));
/// assert_eq!(parameters.values("place").count(), 2);
/// assert_eq!(parameters.insert("unit", "K"), Ok(Some("C".into())));
/// assert_eq!(parameters.as_str(), "place=hall1|hall2;unit=K");
/// assert!(parameters.insert("note", "a;b=c").is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parameters(String);

/// A name or a value would change the entries around it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// A name contains `;` or `=`, at this byte.
    NameSeparator {
        /// In bytes from the start of the name.
        offset: usize,
    },
    /// A value contains `;`, at this byte.
    ValueSeparator {
        /// In bytes from the start of the value.
        offset: usize,
    },
}

impl Parameters {
    /// No parameters. Does not allocate.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Joins entries, in their order and with duplicates; entries with an empty name are dropped.
    pub fn from_entries<N, T>(
        entries: impl IntoIterator<Item = (N, T)>,
    ) -> Result<Self, ParameterError>
    where
        N: AsRef<str>,
        T: AsRef<str>,
    {
        let mut text = String::new();
        for (name, value) in entries {
            let (name, value) = (name.as_ref(), value.as_ref());
            check_entry(name, value)?;
            push_entry(&mut text, name, value);
        }
        Ok(Self(text))
    }

    /// The borrowed form.
    pub fn as_view(&self) -> ParametersView<'_> {
        ParametersView(&self.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// See [`ParametersView::iter`].
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.as_view().iter()
    }

    /// See [`ParametersView::get`].
    pub fn get(&self, name: &str) -> Option<&str> {
        self.as_view().get(name)
    }

    /// See [`ParametersView::values`].
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.as_view().values(name)
    }

    /// See [`ParametersView::contains`].
    pub fn contains(&self, name: &str) -> bool {
        self.as_view().contains(name)
    }

    /// See [`ParametersView::is_ordered`].
    pub fn is_ordered(&self) -> bool {
        self.as_view().is_ordered()
    }

    /// See [`ParametersView::time_range`].
    pub fn time_range(&self) -> Option<Result<TimeRange, TimeRangeError>> {
        self.as_view().time_range()
    }

    /// Replaces all entries `name` by one at the end, and returns the first old value.
    ///
    /// An entry with an empty name is not stored.
    pub fn insert(&mut self, name: &str, value: &str) -> Result<Option<String>, ParameterError> {
        check_entry(name, value)?;
        Ok(self.insert_raw(name, value))
    }

    /// As [`insert`](Self::insert), without a look at the text: a `;` in it makes further entries.
    pub fn insert_raw(&mut self, name: &str, value: &str) -> Option<String> {
        let old = self.remove(name);
        push_entry(&mut self.0, name, value);
        old
    }

    /// Removes all entries `name`, and returns the first old value.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        let old = self.get(name).map(ToOwned::to_owned);
        self.rebuild_without(|known| known == name);
        old
    }

    /// Removes the entries whose name `other` has, then appends the entries of `other`.
    pub fn extend(&mut self, other: ParametersView<'_>) {
        self.rebuild_without(|known| other.contains(known));
        for (name, value) in other.iter() {
            push_entry(&mut self.0, name, value);
        }
    }

    fn rebuild_without(&mut self, is_dropped: impl Fn(&str) -> bool) {
        let mut text = String::with_capacity(self.0.len());
        for (name, value) in self.iter().filter(|(name, _)| !is_dropped(name)) {
            push_entry(&mut text, name, value);
        }
        self.0 = text;
    }
}

fn check_entry(name: &str, value: &str) -> Result<(), ParameterError> {
    if let Some(offset) = name.find([';', '=']) {
        return Err(ParameterError::NameSeparator { offset });
    }
    value.find(';').map_or(Ok(()), |offset| Err(ParameterError::ValueSeparator { offset }))
}

fn push_entry(text: &mut String, name: &str, value: &str) {
    if name.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push(';');
    }
    text.push_str(name);
    if !value.is_empty() {
        text.push('=');
        text.push_str(value);
    }
}

impl From<&str> for Parameters {
    fn from(text: &str) -> Self {
        ParametersView::new(text).into()
    }
}

impl From<String> for Parameters {
    fn from(mut text: String) -> Self {
        text.truncate(ParametersView::new(&text).0.len());
        Self(text)
    }
}

impl From<ParametersView<'_>> for Parameters {
    fn from(view: ParametersView<'_>) -> Self {
        Self(view.0.to_owned())
    }
}

impl<'a> From<&'a str> for ParametersView<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text)
    }
}

impl<'a> From<&'a Parameters> for ParametersView<'a> {
    fn from(parameters: &'a Parameters) -> Self {
        parameters.as_view()
    }
}

impl fmt::Display for ParametersView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameSeparator { offset } => {
                write!(f, "a parameter name contains `;` or `=` at byte {offset}")
            }
            Self::ValueSeparator { offset } => {
                write!(f, "a parameter value contains `;` at byte {offset}")
            }
        }
    }
}

impl core::error::Error for ParameterError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_refused_unless_raw() {
        let mut parameters = Parameters::from("a=1");
        assert_eq!(parameters.insert("b;c", "1"), Err(ParameterError::NameSeparator { offset: 1 }));
        assert_eq!(parameters.insert("b=", "1"), Err(ParameterError::NameSeparator { offset: 1 }));
        assert_eq!(
            parameters.insert("b", "é;1"),
            Err(ParameterError::ValueSeparator { offset: 2 })
        );
        assert_eq!(parameters.as_str(), "a=1");
        assert_eq!(parameters.insert("b", "=x|y"), Ok(None));
        assert_eq!(parameters.insert_raw("c", "1;d=2"), None);
        assert_eq!(parameters.get("d"), Some("2"));
    }

    #[test]
    fn entries_keep_their_order() {
        let parameters =
            Parameters::from_entries([("z", "1"), ("", "lost"), ("a", ""), ("z", "2")]).unwrap();
        assert_eq!(parameters.as_str(), "z=1;a;z=2");
        assert!(Parameters::from_entries([("a", ";")]).is_err());
    }

    #[test]
    fn the_time_range_is_parsed_on_demand() {
        assert_eq!(Parameters::from("a=1").time_range(), None);
        assert!(Parameters::from("_time=[..]").time_range().unwrap().is_ok());
        assert!(
            Parameters::from("_time=[now(-1h);30m]").time_range().unwrap().is_err(),
            "`;` ends the entry"
        );
        assert!(Parameters::from("_time=[now(-1h),30m]").time_range().unwrap().is_ok());
    }
}
