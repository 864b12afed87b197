//! The readers of a capture and their interfaces, as the thread that changes them knows them.

use std::sync::Arc;

use ring::InterfaceInfo;

use super::super::account::interface_filter::InterfaceFilter;
use super::super::plan::mode::Mode;
use super::hand_over::HandOverResult;
use super::new_interface::NewInterface;
use super::pending::PendingChanges;

/// A reader whose capture is changed.
pub struct Member {
    /// All interfaces that the reader has had, in order of joining.
    pub interfaces: Vec<Slot>,
    pub pending: Arc<PendingChanges>,
}

/// An interface of a reader.
pub struct Slot {
    pub link: InterfaceInfo,
    /// The number by which packets refer to it.
    pub number: u32,
    pub mode: Mode,
    /// What replaces its rings. `None`: it has been removed.
    pub hand_over: Option<HandOverResult>,
    /// The filters in front of its rings.
    pub filter: InterfaceFilter,
}

impl Slot {
    pub fn of(new: &mut NewInterface, mode: Mode) -> Self {
        Self {
            link: new.interface.link.clone(),
            number: new.interface.number,
            mode,
            hand_over: Some(new.interface.take_hand_over(&new.queues)),
            filter: new.interface.filter(),
        }
    }
}
