//! The numbers that a node has declared for key expressions on one connection.

use std::collections::HashMap;

use weft_wire::WireExpr;

use super::limits::{Budget, NAME_LEN_MAX, Reservation};

/// Names of the ids of one direction.
#[derive(Default)]
pub(super) struct Keys(HashMap<u16, (String, Reservation)>);

impl Keys {
    /// From here on `id` stands for `name`. Whether there was room for it.
    pub(super) fn declare(&mut self, id: u16, name: String, budget: &Budget) -> bool {
        self.0.remove(&id);
        let mut reserved = budget.reserve();
        let has_room = name.len() <= NAME_LEN_MAX
            && reserved.grow(name.len() + size_of::<(u16, String, Reservation)>());
        if has_room {
            self.0.insert(id, (name, reserved));
        }
        has_room
    }

    /// From here on `id` stands for nothing.
    pub(super) fn undeclare(&mut self, id: u16) {
        self.0.remove(&id);
    }

    /// The whole text of an expression with a scope of this direction; `<id N>` and the suffix if it is unknown.
    pub(super) fn resolve(&self, wire_expr: &WireExpr<'_>) -> String {
        let WireExpr { scope, suffix, .. } = wire_expr;
        match self.0.get(scope) {
            _ if *scope == 0 => (*suffix).to_owned(),
            Some((name, _)) => format!("{name}{suffix}"),
            None => format!("<id {scope}>{suffix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_wire::Mapping;

    #[test]
    fn ids_are_resolved_while_they_are_declared() {
        let (mut keys, budget) = (Keys::default(), Budget::new(200));
        let wire_expr = WireExpr { scope: 3, mapping: Mapping::Sender, suffix: "/b" };
        assert_eq!(keys.resolve(&wire_expr), "<id 3>/b");
        assert!(keys.declare(3, "a".into(), &budget));
        assert_eq!(keys.resolve(&wire_expr), "a/b");
        assert!(!keys.declare(4, "x".repeat(200), &budget));
        assert!(!keys.declare(4, "x".repeat(NAME_LEN_MAX + 1), &Budget::new(1 << 20)));
        keys.undeclare(3);
        assert_eq!(keys.resolve(&wire_expr), "<id 3>/b");
        assert_eq!(keys.resolve(&WireExpr::full("c")), "c");
    }
}
