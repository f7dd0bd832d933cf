//! Tables for notebooks.

use std::fmt::Write as _;

/// The fields of a sample that say something.
pub(crate) fn sample(sample: &weft::Sample) -> Vec<Vec<String>> {
    let kind = if sample.kind() == weft::SampleKind::Put { "put" } else { "delete" };
    let mut rows = vec![
        vec!["key_expr".to_owned(), sample.key_expr().to_string()],
        vec!["kind".to_owned(), kind.to_owned()],
        vec!["payload".to_owned(), format!("{:?}", sample.payload())],
        vec!["encoding".to_owned(), sample.encoding().to_string()],
    ];
    let optional = [
        ("timestamp", sample.timestamp().map(|it| it.to_string())),
        ("attachment", sample.attachment().map(|it| format!("{it:?}"))),
        (
            "source",
            sample.source_info().map(|it| format!("{}/{} #{}", it.id.zid, it.id.eid, it.sn)),
        ),
    ];
    rows.extend(
        optional.into_iter().filter_map(|(name, value)| Some(vec![name.to_owned(), value?])),
    );
    rows
}

/// A table; what is in it is escaped.
pub(crate) fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut html = String::from("<table><thead><tr>");
    for name in head {
        let _ = write!(html, "<th>{}</th>", escaped(name));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for cell in row {
            let _ = write!(html, "<td>{}</td>", escaped(&cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
    html
}

fn escaped(text: &str) -> String {
    let escape = |html: &str, (from, to)| html.replace(from, to);
    [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")]
        .into_iter()
        .fold(text.to_owned(), |html, pair| escape(&html, pair))
}
