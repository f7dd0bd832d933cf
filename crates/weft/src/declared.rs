//! What the application holds of a declaration that delivers to a handler.
//!
//! Spec: 05 §A.4. The declaration ends with its handle, unless the handle let it go.

use std::sync::{Arc, Weak};

use weft_wire::EntityGlobalId;

use crate::error::{Error, Result};
use crate::session::SessionInner;

/// Ends a declaration when it is dropped.
pub(crate) struct Declared {
    session: Weak<SessionInner>,
    id: u32,
    end: Box<dyn Fn(&SessionInner) + Send + Sync>,
}

impl Declared {
    /// `end` is called at most once, and not after the session is gone.
    pub(crate) fn new(
        session: &Arc<SessionInner>,
        id: u32,
        end: impl Fn(&SessionInner) + Send + Sync + 'static,
    ) -> Self {
        Self { session: Arc::downgrade(session), id, end: Box::new(end) }
    }

    pub(crate) fn id(&self) -> Result<EntityGlobalId> {
        let session = self.session.upgrade().ok_or(Error::SessionClosed)?;
        Ok(EntityGlobalId { zid: session.core.zid, eid: self.id })
    }

    /// From now on it ends with the session.
    pub(crate) fn let_go(&mut self) {
        self.session = Weak::new();
    }
}

impl Drop for Declared {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            (self.end)(&session);
        }
    }
}

/// What every handle with a `declared` and a `handler` offers. `$owner` is what it lives as long as,
/// once it is let go.
macro_rules! handle {
    ($name:ident<$($parameter:ident),+>, $owner:literal) => {
        impl<$($parameter),+> $name<$($parameter),+> {
            /// What the handler was split into; for a channel, its receiver.
            pub const fn handler(&self) -> &H {
                &self.handler
            }

            /// Ends it. When this returns its callback does not run and will not be called again;
            /// called from a callback, its own or another one, it does not wait for callbacks that
            /// run.
            pub fn undeclare(self) {}

            #[doc = concat!("Lets it live as long as ", $owner, ", without this handle.")]
            /// A channel has no receiver then.
            pub fn background(mut self) {
                self.declared.let_go();
            }
        }

        impl<$($parameter),+> core::ops::Deref for $name<$($parameter),+> {
            type Target = H;

            fn deref(&self) -> &H {
                &self.handler
            }
        }
    };
}
pub(crate) use handle;

/// As [`handle`], for one with a `key_expr` as well.
macro_rules! keyed_handle {
    ($name:ident) => {
        $crate::declared::handle!($name<H>, "the session");

        impl<H> $name<H> {
            /// Its identity.
            ///
            /// # Errors
            /// If the session is gone.
            pub fn id(&self) -> $crate::Result<weft_wire::EntityGlobalId> {
                self.declared.id()
            }

            /// Its key expression.
            pub const fn key_expr(&self) -> &weft_keyexpr::KeyExpr {
                &self.key_expr
            }
        }

        impl<H> core::fmt::Debug for $name<H> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("key_expr", &self.key_expr)
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use keyed_handle;
