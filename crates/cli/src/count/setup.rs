//! From flags to the library's options.

use std::sync::Arc;
use std::time::Duration;

use tapline::capture::Expression;
use tapline::count::{Class, Key, Options};

use crate::args::{ClassArg, CountArgs};
use crate::names::System;

/// The name of the class that is there if none is given.
const ALL: &str = "all";

pub fn options(args: &CountArgs) -> Options {
    Options {
        links: args.interface.clone(),
        classes: classes(&args.classes),
        direction: args.direction,
        by: args.by,
        groups: args.groups.get(),
        layer: args.layer.layer,
        interval: intervals(args).0,
        duration: args.duration,
        ingress: args.ingress,
    }
}

fn classes(typed: &[ClassArg]) -> Vec<Class> {
    if typed.is_empty() {
        let name = ALL.to_owned();
        return vec![Class { name, filter: None }];
    }
    let names = Arc::new(System::new());
    let class = |class: &ClassArg| Class {
        name: class.name.clone(),
        filter: class.filter.clone().map(|text| Expression {
            text,
            names: names.clone(),
        }),
    };
    typed.iter().map(class).collect()
}

/// How long an interval of the library is, and how many of them are told as one: whoever asks for
/// metrics is not to wait for a long interval's end.
pub fn intervals(args: &CountArgs) -> (Duration, u32) {
    crate::metrics::ticks(args.interval, args.metrics.is_some())
}

/// Columns of the usual keys; 0 where nothing is split.
pub fn group_columns(args: &CountArgs) -> usize {
    match args.by {
        None => 0,
        Some(Key::Src | Key::Dst) => 15,
        Some(Key::SrcMac | Key::DstMac) => 17,
        Some(_) => 9,
    }
}

/// What classes are split by, and how many groups are told of each.
pub fn split(args: &CountArgs) -> Option<(Key, usize)> {
    args.by.map(|key| (key, args.top))
}

/// Groups told of each class; `None` where nothing is split.
pub fn top(args: &CountArgs) -> Option<usize> {
    args.by.map(|_| args.top)
}
