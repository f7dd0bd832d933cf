//! The golden vectors of time ranges.

use crate::{rows, text};
use serde_json::{Value, json};
use std::ops::Bound;
use weft_keyexpr::TimeRange;

const NOW_UNIX_NS: i128 = 1_700_000_000_000_000_000;

fn as_json(bound: Bound<i128>) -> Value {
    let number = |unix_ns| i64::try_from(unix_ns).unwrap();
    match bound {
        Bound::Unbounded => json!("unbounded"),
        Bound::Included(unix_ns) => json!({ "inclusive": number(unix_ns) }),
        Bound::Excluded(unix_ns) => json!({ "exclusive": number(unix_ns) }),
    }
}

#[test]
fn ranges() {
    let rows = rows("time_range", "ranges");
    assert_eq!(rows.len(), 69);
    for row in &rows {
        match TimeRange::parse(text(row, "in")) {
            Ok(range) => {
                assert_eq!(range.to_string(), row["display"], "{row}");
                let (start, end) = range.resolve(NOW_UNIX_NS);
                assert_eq!(
                    (as_json(start), as_json(end)),
                    (row["start"].clone(), row["end"].clone()),
                    "{row}"
                );
                assert_eq!(TimeRange::parse(&range.to_string()), Ok(range), "{row}");
            }
            Err(_) => assert_eq!(row["error"], true, "{row}"),
        }
    }
}
