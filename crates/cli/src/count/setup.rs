//! Arguments to options of the library.

use std::sync::Arc;
use std::time::Duration;

use tapline::Expression;
use tapline::count::{CountClass, CountOptions, GroupBy};

use crate::args::{ClassArg, CountArgs};
use tapline::filter::SystemNames;

/// The default class.
const ALL: &str = "all";

pub fn options(args: &CountArgs) -> CountOptions {
    let mut options = CountOptions::default();
    options.interfaces.clone_from(&args.interface);
    options.classes = classes(&args.classes);
    options.direction = args.direction.unwrap_or_default();
    options.by = args.key();
    options.groups = args.groups.get();
    options.layer = args.layer.layer;
    options.interval = intervals(args).0;
    options.duration = args.duration;
    options.ingress = args.ingress;
    options
}

fn classes(typed: &[ClassArg]) -> Vec<CountClass> {
    if typed.is_empty() {
        let name = ALL.to_owned();
        return vec![CountClass { name, filter: None }];
    }
    let names = Arc::new(SystemNames::new());
    let class = |class: &ClassArg| CountClass {
        name: class.name.clone(),
        filter: class
            .filter
            .clone()
            .map(|text| Expression::new(text, names.clone()).into()),
    };
    typed.iter().map(class).collect()
}

/// The interval of the library, and the number of intervals per report. Metrics need short intervals.
pub fn intervals(args: &CountArgs) -> (Duration, u32) {
    crate::metrics::ticks(args.interval, args.metrics.is_some())
}

/// The column width for keys; 0 without groups.
pub fn group_columns(args: &CountArgs) -> usize {
    match args.key() {
        None => 0,
        Some(GroupBy::Src | GroupBy::Dst) => 15,
        Some(GroupBy::SrcMac | GroupBy::DstMac) => 17,
        Some(_) => 9,
    }
}

/// The key, and the number of reported groups per class.
pub fn split(args: &CountArgs) -> Option<(GroupBy, usize)> {
    args.key().map(|key| (key, args.top))
}

/// The number of reported groups per class; `None` without groups.
pub fn top(args: &CountArgs) -> Option<usize> {
    args.key().map(|_| args.top)
}
