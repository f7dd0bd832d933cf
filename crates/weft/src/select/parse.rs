//! The grammar of filters, by recursive descent.
//!
//! ```text
//! or   = and  *( ( "or"  / "||"       ) and )
//! and  = not  *( ( "and" / "&&" / "&" ) not )
//! not  = ( "not" / "!" ) not / "(" or ")" / test
//! test = "exists" "(" path ")" / path [ cmp literal / "in" "[" literals "]" / "like" string ]
//! ```
//!
//! Spec: 04 §12.2. Words are names where a path can start, except `not`, and `exists` before a parenthesis; a member with
//! such a name is written `$["not"]`.

use super::NESTING_MAX;
use super::error::{SelectError, SelectErrorKind};
use super::filter::{ARGUMENT, Check, Comparison, Expr};
use super::glob::Glob;
use super::scan::Scanner;
use crate::value::{Step, Value};

/// Comparison operators; a longer one stands before its beginnings.
const COMPARISONS: [(&str, Comparison); 7] = [
    ("==", Comparison::Equal),
    ("=", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    ("<", Comparison::Less),
    (">=", Comparison::GreaterOrEqual),
    (">", Comparison::Greater),
];

/// Parses a whole filter.
pub(super) fn filter(text: &str) -> Result<Expr, SelectError> {
    let mut scanner = Scanner::new(text, ARGUMENT, SelectErrorKind::BadFilter)?;
    let expr = or(&mut scanner, 0)?;
    if !scanner.is_at_end() {
        return Err(scanner.error("an operator or the end"));
    }
    Ok(expr)
}

fn or(scanner: &mut Scanner<'_>, depth: usize) -> Result<Expr, SelectError> {
    let mut parts = vec![and(scanner, depth)?];
    while scanner.eat_word("or") || scanner.eat("||") {
        parts.push(and(scanner, depth)?);
    }
    joined(scanner, parts, Expr::Any)
}

fn and(scanner: &mut Scanner<'_>, depth: usize) -> Result<Expr, SelectError> {
    let mut parts = vec![not(scanner, depth)?];
    while scanner.eat_word("and") || scanner.eat("&&") || scanner.eat("&") {
        parts.push(not(scanner, depth)?);
    }
    joined(scanner, parts, Expr::All)
}

/// A single part as it is, several with the operator between them.
fn joined(
    scanner: &mut Scanner<'_>,
    mut parts: Vec<Expr>,
    operator: fn(Vec<Expr>) -> Expr,
) -> Result<Expr, SelectError> {
    if let [_] = parts[..] {
        return Ok(parts.remove(0));
    }
    scanner.count_node()?;
    Ok(operator(parts))
}

fn not(scanner: &mut Scanner<'_>, depth: usize) -> Result<Expr, SelectError> {
    if depth > NESTING_MAX {
        return Err(scanner.too_complex(format!("nested deeper than {NESTING_MAX}")));
    }
    if scanner.eat_word("not") || scanner.eat("!") {
        scanner.count_node()?;
        return Ok(Expr::Not(Box::new(not(scanner, depth + 1)?)));
    }
    if scanner.eat("(") {
        let inner = or(scanner, depth + 1)?;
        close(scanner)?;
        return Ok(inner);
    }
    test(scanner)
}

fn test(scanner: &mut Scanner<'_>) -> Result<Expr, SelectError> {
    scanner.count_node()?;
    if scanner.eat_call("exists") {
        let path = path(scanner)?;
        close(scanner)?;
        let check = Check::Exists;
        return Ok(Expr::Test { path, check });
    }
    let path = path(scanner)?;
    let check = check(scanner)?;
    Ok(Expr::Test { path, check })
}

fn close(scanner: &mut Scanner<'_>) -> Result<(), SelectError> {
    if scanner.eat(")") {
        return Ok(());
    }
    Err(scanner.error("`)`"))
}

fn path(scanner: &mut Scanner<'_>) -> Result<Vec<Step>, SelectError> {
    let mut path = Vec::new();
    if !scanner.eat("$") {
        let name = scanner.name().ok_or_else(|| scanner.error("the path of a value"))?;
        path.push(Step::Member(name.to_owned()));
    }
    scanner.steps(&mut path, true)?;
    Ok(path)
}

/// What follows the path of a test.
fn check(scanner: &mut Scanner<'_>) -> Result<Check, SelectError> {
    if let Some((_, comparison)) = COMPARISONS.into_iter().find(|(token, _)| scanner.eat(token)) {
        return Ok(Check::Compare(comparison, literal(scanner)?));
    }
    if scanner.eat_word("in") {
        return literals(scanner).map(Check::In);
    }
    if scanner.eat_word("like") {
        let Some(pattern) = scanner.string()? else {
            return Err(scanner.error("a quoted pattern after `like`"));
        };
        let glob = Glob::new(&pattern)
            .ok_or_else(|| scanner.error("a character after the `\\` that ends the pattern"));
        return glob.map(Check::Like);
    }
    Ok(Check::IsTrue)
}

fn literals(scanner: &mut Scanner<'_>) -> Result<Vec<Value>, SelectError> {
    if !scanner.eat("[") {
        return Err(scanner.error("`[` after `in`"));
    }
    let mut literals = Vec::new();
    if scanner.eat("]") {
        return Ok(literals);
    }
    loop {
        scanner.count_node()?;
        literals.push(literal(scanner)?);
        if scanner.eat("]") {
            return Ok(literals);
        }
        if !scanner.eat(",") {
            return Err(scanner.error("`,` or `]`"));
        }
    }
}

fn literal(scanner: &mut Scanner<'_>) -> Result<Value, SelectError> {
    if let Some(string) = scanner.string()? {
        return Ok(Value::Text(string));
    }
    Ok(match scanner.name() {
        Some("true") => Value::Bool(true),
        Some("false") => Value::Bool(false),
        Some("null") => Value::Null,
        Some(word) => Value::from(word),
        None => {
            let number = scanner.number();
            return number.ok_or_else(|| scanner.error("a number, a string or a word"));
        }
    })
}
