//! The routes that a thread published on lately, so that it finds them without an atomic
//! read-modify-write.
//!
//! A publisher's route is shared by all threads; taking it from there costs two of them. Nearly always
//! it is the same thread that publishes again, and then a number to compare is enough. A thread may hold
//! on to some routes that are out of date, until it publishes again, ends an entity or ends itself; so
//! only those without callbacks of the application are kept.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::route::Route;

/// Routes that a thread keeps. A power of two.
const KEPT: usize = 8;

#[derive(Default)]
struct Place {
    /// Whose route it is, by [`serial`].
    publisher: u64,
    route: Option<Arc<Route>>,
    /// Who was not found here last, if nobody was found since. So publishers that take turns in one
    /// place do not drive each other out of it.
    candidate: Cell<u64>,
}

thread_local! {
    static PLACES: RefCell<[Place; KEPT]> = RefCell::default();
}

/// A number that no other publisher of this process has, and never 0.
pub(super) fn serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Calls `with` with the route of a publisher, if this thread knows one that holds. Returns whether.
#[inline]
pub(super) fn find(publisher: u64, with: impl FnOnce(&Route)) -> bool {
    let found = PLACES.try_with(|places| {
        // Whoever waits for room may run code that publishes: that is a second look, which is fine.
        let Ok(places) = places.try_borrow() else { return false };
        let place = &places[publisher as usize % KEPT];
        match &place.route {
            Some(route) if place.publisher == publisher && !route.validity.is_stale() => {
                place.candidate.set(0);
                with(route);
                true
            }
            _ => false,
        }
    });
    found.unwrap_or(false)
}

/// Keeps the route of a publisher that was not found, if it is worth it.
pub(super) fn keep(publisher: u64, route: &Arc<Route>) {
    if !route.locals.is_empty() {
        return;
    }
    let place = Place { publisher, route: Some(Arc::clone(route)), candidate: Cell::new(0) };
    replace(publisher, place, |old| {
        let is_free = old.route.as_ref().is_none_or(|route| route.validity.is_stale());
        is_free || old.publisher == publisher || old.candidate.replace(publisher) == publisher
    });
}

/// Lets go of a publisher's route, and of any other in its place.
pub(super) fn forget(publisher: u64) {
    replace(publisher, Place::default(), |_| true);
}

/// Lets go of all routes.
pub(crate) fn forget_all() {
    let taken =
        PLACES.try_with(|places| places.try_borrow_mut().map(|mut it| std::mem::take(&mut *it)));
    drop(taken);
}

fn replace(publisher: u64, place: Place, is_to_be: impl FnOnce(&Place) -> bool) {
    let old = PLACES.try_with(|places| {
        let mut places = places.try_borrow_mut().ok()?;
        let there = &mut places[publisher as usize % KEPT];
        is_to_be(there).then(|| std::mem::replace(there, place))
    });
    // Only now: whatever is dropped with it finds the places free.
    drop(old);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route() -> Arc<Route> {
        Arc::new(Route::to_nobody())
    }

    fn finds(publisher: u64) -> bool {
        find(publisher, |_| ())
    }

    #[test]
    fn a_publisher_finds_its_route_until_it_forgets_it() {
        forget_all();
        keep(3, &route());
        assert!(finds(3));
        assert!(!finds(3 + KEPT as u64));
        forget(3);
        assert!(!finds(3));
    }

    #[test]
    fn publishers_that_take_turns_leave_the_first_where_it_is() {
        forget_all();
        let other = 1 + KEPT as u64;
        keep(1, &route());
        for _ in 0..3 {
            assert!(finds(1));
            assert!(!finds(other));
            keep(other, &route());
        }
        keep(other, &route());
        assert!(finds(other) && !finds(1), "twice in a row: now it is the other's place");
    }

    #[test]
    fn what_is_kept_does_not_outlive_forgetting() {
        forget_all();
        let route = route();
        keep(5, &route);
        assert_eq!(Arc::strong_count(&route), 2);
        forget_all();
        assert_eq!(Arc::strong_count(&route), 1);
    }
}
