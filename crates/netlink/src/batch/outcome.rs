use crate::error::NetlinkError;

/// What became of the items of a batch, in the order they were given.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// How many items there were.
    pub item_count: usize,
    /// The items that failed, with their numbers from 0.
    pub failed: Vec<(usize, NetlinkError)>,
    /// The first item that was not carried out because one before it had failed.
    pub not_run_from: Option<usize>,
    /// The items that were carried out have been taken back.
    pub undone: bool,
    /// The items that could not be taken back.
    pub not_undone: Vec<(usize, NetlinkError)>,
}

/// What became of one item.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ItemResult<'a> {
    /// The kernel did it.
    Done,
    /// The kernel refused, or its answer was lost.
    Failed(&'a NetlinkError),
    /// It was not asked for, since an item before it had failed.
    NotRun,
    /// The kernel did it, and it was taken back.
    Undone,
    /// The kernel did it, and it could not be taken back.
    NotUndone(&'a NetlinkError),
}

impl Outcome {
    /// Whether every item was carried out.
    pub fn is_done(&self) -> bool {
        self.failed.is_empty()
    }

    /// What became of item number `item`, from 0; `None` when there are not as many.
    pub fn result(&self, item: usize) -> Option<ItemResult<'_>> {
        if item >= self.item_count {
            return None;
        }
        let of = |list: &'_ [(usize, NetlinkError)]| list.binary_search_by_key(&item, |it| it.0);
        Some(if let Ok(at) = of(&self.failed) {
            ItemResult::Failed(&self.failed[at].1)
        } else if self.not_run_from.is_some_and(|from| item >= from) {
            ItemResult::NotRun
        } else if let Ok(at) = of(&self.not_undone) {
            ItemResult::NotUndone(&self.not_undone[at].1)
        } else if self.undone {
            ItemResult::Undone
        } else {
            ItemResult::Done
        })
    }
}
