//! When to look at which flow: a wheel of lists by deadline.
//!
//! A flow stays where its deadline was when it was put there. Packets postpone the deadline and do not move it; when its slot
//! comes, whoever takes it out looks whether the time has come, and otherwise puts it back.

/// Slots. A deadline is at most `SPAN` ticks ahead, so that a slot has flows of one round only.
const SLOTS: usize = 256;
const SPAN: u64 = SLOTS as u64 - 1;

/// Stands for no flow.
const NONE: u32 = u32::MAX;

/// The neighbours of a flow in the list of its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    pub previous: u32,
    pub next: u32,
    pub slot: u8,
}

/// Gives access to the links of a flow.
pub(crate) trait Linked {
    fn links(&self) -> Links;
    fn set_links(&mut self, links: Links);

    fn set_previous(&mut self, previous: u32) {
        let links = self.links();
        self.set_links(Links { previous, ..links });
    }

    fn set_next(&mut self, next: u32) {
        let links = self.links();
        self.set_links(Links { next, ..links });
    }
}

#[derive(Debug)]
pub(crate) struct Wheel {
    heads: [u32; SLOTS],
    tick_ns: u64,
    /// All slots up to this tick are done.
    done: u64,
    /// When the next slot is due.
    due_ns: u64,
}

impl Wheel {
    /// A wheel for deadlines up to `most_ns` ahead.
    pub(crate) fn new(most_ns: u64) -> Self {
        Self {
            heads: [NONE; SLOTS],
            // Two ticks are lost by rounding.
            tick_ns: (most_ns / (SPAN - 3)).max(1_000_000),
            done: 0,
            due_ns: 0,
        }
    }

    /// Starts at `now_ns`, if it is empty.
    pub(crate) fn start(&mut self, now_ns: u64) {
        self.set_done(now_ns / self.tick_ns);
    }

    /// Forgets all flows.
    pub(crate) fn clear(&mut self) {
        self.heads = [NONE; SLOTS];
    }

    fn set_done(&mut self, tick: u64) {
        self.done = tick;
        self.due_ns = (tick + 1).saturating_mul(self.tick_ns);
    }

    /// Puts a flow where it is found at `deadline_ns` or up to a tick later; sooner if that is further ahead than the wheel goes.
    pub(crate) fn insert<T: Linked>(&mut self, flows: &mut [T], flow: u32, deadline_ns: u64) {
        let tick = (deadline_ns / self.tick_ns + 1).clamp(self.done + 1, self.done + SPAN);
        let slot = (tick % SLOTS as u64) as usize;
        let next = std::mem::replace(&mut self.heads[slot], flow);
        flows[flow as usize].set_links(Links {
            previous: NONE,
            next,
            slot: slot as u8,
        });
        if next != NONE {
            flows[next as usize].set_previous(flow);
        }
    }

    pub(crate) fn remove<T: Linked>(&mut self, flows: &mut [T], flow: u32) {
        let Links {
            previous,
            next,
            slot,
        } = flows[flow as usize].links();
        match previous {
            NONE => self.heads[usize::from(slot)] = next,
            previous => flows[previous as usize].set_next(next),
        }
        if next != NONE {
            flows[next as usize].set_previous(previous);
        }
    }

    /// Takes out a flow to look at by `now_ns`. Looks at `budget` slots and flows at most, and counts them down.
    #[inline]
    pub(crate) fn due<T: Linked>(
        &mut self,
        flows: &mut [T],
        now_ns: u64,
        budget: &mut u32,
    ) -> Option<u32> {
        if now_ns < self.due_ns {
            return None;
        }
        self.due_slots(flows, now_ns, budget)
    }

    fn due_slots<T: Linked>(
        &mut self,
        flows: &mut [T],
        now_ns: u64,
        budget: &mut u32,
    ) -> Option<u32> {
        let now = now_ns / self.tick_ns;
        // After a long gap, once around is enough.
        self.set_done(self.done.max(now.saturating_sub(SLOTS as u64)));
        while self.done < now && *budget > 0 {
            *budget -= 1;
            let slot = ((self.done + 1) % SLOTS as u64) as usize;
            match self.heads[slot] {
                NONE => self.set_done(self.done + 1),
                flow => {
                    self.remove(flows, flow);
                    return Some(flow);
                }
            }
        }
        None
    }

    /// Takes out the flow that is checked next: as far as the wheel knows, none was idle for longer.
    pub(crate) fn first<T: Linked>(&mut self, flows: &mut [T]) -> Option<u32> {
        let slot = |ahead: u64| ((self.done + ahead) % SLOTS as u64) as usize;
        let mut heads = (1..=SLOTS as u64).map(|ahead| self.heads[slot(ahead)]);
        let flow = heads.find(|&head| head != NONE)?;
        self.remove(flows, flow);
        Some(flow)
    }
}
