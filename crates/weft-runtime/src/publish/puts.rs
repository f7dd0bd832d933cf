//! The routes of samples that are published without a publisher.
//!
//! They are kept by key under a lock. A few threads share one, so that threads that publish side by side
//! do not write the same memory: each thread belongs to one of [`GROUPS`].

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_keyexpr::KeyExpr;

use crate::apart::Apart;
use crate::route::Route;

/// Routes kept for one group of threads.
const ROUTES_MAX: usize = 4096;
const GROUPS: usize = 16;

type Routes = HashMap<KeyExpr, Arc<Route>>;

#[derive(Default)]
pub(crate) struct PutRoutes([Apart<Mutex<Routes>>; GROUPS]);

impl PutRoutes {
    /// The route of a key for the calling thread. Makes it, without a lock, if it is not kept or out of
    /// date.
    ///
    /// Cost of one that is kept: a lock, and a count of the route, both of this group of threads.
    pub(crate) fn find(&self, key: &KeyExpr, make: impl FnOnce() -> Arc<Route>) -> Arc<Route> {
        let own = &self.0[group()];
        if let Some(route) = lock(own).get(key.as_str())
            && !route.validity.is_stale()
        {
            return Arc::clone(route);
        }
        let route = make();
        let mut routes = lock(own);
        let full = routes.len() >= ROUTES_MAX;
        let cleared = if full { mem::take(&mut *routes) } else { HashMap::default() };
        let replaced = routes.insert(key.clone(), Arc::clone(&route));
        // What a subscriber held is dropped without the lock: a destructor may publish.
        drop(routes);
        drop((cleared, replaced));
        route
    }

    /// Lets go of routes that are out of date.
    pub(crate) fn purge(&self) {
        for routes in &self.0 {
            let mut routes = lock(routes);
            let stale: Vec<_> = routes.extract_if(|_, route| route.validity.is_stale()).collect();
            drop(routes);
            drop(stale);
        }
    }

    /// Lets go of all routes.
    pub(crate) fn clear(&self) {
        for routes in &self.0 {
            let all = mem::take(&mut *lock(routes));
            drop(all);
        }
    }
}

fn lock(routes: &Mutex<Routes>) -> MutexGuard<'_, Routes> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The group of the calling thread. Threads are spread over them in the order of their first put.
fn group() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static GROUP: usize = NEXT.fetch_add(1, Ordering::Relaxed) % GROUPS;
    }
    // A thread that ends may publish in a destructor.
    GROUP.try_with(|group| *group).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn key(text: &str) -> KeyExpr {
        KeyExpr::new(text).unwrap()
    }

    fn find(routes: &PutRoutes, key: &KeyExpr) -> (Arc<Route>, bool) {
        let mut is_made = false;
        let route = routes.find(key, || {
            is_made = true;
            Arc::new(Route::to_nobody())
        });
        (route, is_made)
    }

    #[test]
    fn a_route_is_made_once_for_a_thread_and_again_for_one_of_another_group() {
        let (routes, key) = (PutRoutes::default(), key("a"));
        let (route, is_made) = find(&routes, &key);
        assert!(is_made);
        assert!(!find(&routes, &key).1);
        thread::scope(|scope| {
            let other = scope.spawn(|| (group(), find(&routes, &key)));
            let (other, (its, is_made)) = other.join().unwrap();
            assert_eq!(is_made, other != group());
            assert_eq!(is_made, !Arc::ptr_eq(&route, &its));
        });
        routes.clear();
        assert_eq!(Arc::strong_count(&route), 1);
    }

    #[test]
    fn a_group_keeps_a_limited_number_of_routes() {
        let routes = PutRoutes::default();
        for n in 0..=ROUTES_MAX {
            find(&routes, &key(&format!("a/{n}")));
        }
        assert_eq!(lock(&routes.0[group()]).len(), 1);
    }
}
