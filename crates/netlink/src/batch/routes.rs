//! Many routes that differ in their destinations only.

use super::collect::Batch;
use crate::codec::{HEADER_BYTES, Request};
use crate::object::{Object, Verb};
use crate::prefix::Prefix;
use crate::route::Route;
use crate::uapi::NLM_F_ACK;

/// Where the destination is in the message of a route that has one: behind the header of its attribute, which is the
/// first.
const DESTINATION_AT: usize = HEADER_BYTES + Route::HEADER_BYTES + 4;

impl Batch<'_> {
    /// Adds a route like `like` to each of `destinations`: an item each, as by [`add`](Self::add). Its message is that
    /// of the one before with another destination, which costs a part of making one.
    pub fn add_to_each(
        &mut self,
        like: &Route,
        destinations: impl IntoIterator<Item = Prefix>,
    ) -> &mut Self {
        let mut route = like.clone();
        let mut pattern = Request::default();
        let mut of = None;
        for dst in destinations {
            if of != Some((dst.family(), dst.len)) {
                route.dst = Some(dst);
                pattern.clear();
                of = (!dst.is_everything()
                    && self.takes_as_they_are(Verb::Add, &route)
                    && route.put(Verb::Add, &mut pattern).is_ok())
                .then(|| (dst.family(), dst.len));
                if of.is_some() {
                    pattern.unflag(NLM_F_ACK);
                }
            }
            if of.is_none() {
                route.dst = Some(dst);
                self.add(&route);
            } else if let Some(item) = self.begin_item() {
                let start = self.requests.position();
                self.requests.append(pattern.bytes());
                self.requests.overwrite_ip(start + DESTINATION_AT, dst.ip);
                self.end_item::<Route>(item, start, Verb::Add);
            }
        }
        self
    }
}
