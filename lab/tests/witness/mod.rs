//! Helpers for tests that configure and inspect hosts with iproute2.

use std::fmt::Debug;
use std::net::IpAddr;
use std::str::FromStr;

use netlink::schema::{Arguments, AttributeSet, NameLookup};
use netlink::{Cause, Event, IfIndex, IfName, Link, Netlink, NetlinkError, Object, Veth, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::Value;
use tapline_lab::Host;

/// What `ip -json -details -statistics ARGUMENTS` prints on `host`.
#[track_caller]
pub fn ip_json(host: &Host, arguments: &[&str]) -> Value {
    json(host, &format!("ip {}", arguments.join(" ")))
}

/// Runs `line`, e.g. `bridge fdb add …`, on `host`.
#[track_caller]
pub fn run(host: &Host, line: &str) {
    host.output_of(line);
}

/// The value behind `key:` in what `line` prints on `host`, the last time.
#[track_caller]
pub fn value_printed(host: &Host, line: &str, key: &str) -> String {
    let text = host.output_of(line);
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    let found = lines.rfind(|(found, _)| found.trim() == key);
    let (_, value) = found.unwrap_or_else(|| panic!("{key} in {text}"));
    value.trim().to_owned()
}

/// Runs `line`, which is to be refused, and returns what it says.
#[track_caller]
pub fn refused(host: &Host, line: &str) -> String {
    let output = output(host, line, &[]);
    assert!(!output.status.success(), "{line} was not refused");
    said(&output)
}

/// What `line` shows as JSON, with details and statistics.
#[track_caller]
pub fn json(host: &Host, line: &str) -> Value {
    json_with(host, &["-json", "-details", "-statistics"], line)
}

/// What `line` shows as JSON.
#[track_caller]
pub fn plain_json(host: &Host, line: &str) -> Value {
    json_with(host, &["-json"], line)
}

#[track_caller]
fn json_with(host: &Host, options: &[&str], line: &str) -> Value {
    let output = output(host, line, options);
    assert!(output.status.success(), "{line}: {}", said(&output));
    match output.stdout.as_slice() {
        [] => Value::Array(Vec::new()),
        text => serde_json::from_slice(text).expect("JSON"),
    }
}

fn output(host: &Host, line: &str, options: &[&str]) -> std::process::Output {
    let (program, arguments) = line.split_once(' ').expect("a program and its arguments");
    let mut command = host.command(program);
    command.args(options).args(arguments.split_whitespace());
    command.output().expect("it runs")
}

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The objects in a list, of which there is one.
#[track_caller]
pub fn only(list: &Value) -> &Value {
    let list = list.as_array().expect("a list");
    assert_eq!(list.len(), 1, "{list:#?}");
    &list[0]
}

/// What `ip` shows as flags: a key whose value is `true` or, in some objects, `null`.
pub fn flag(shown: &Value, key: &str) -> bool {
    shown.get(key).is_some()
}

pub fn name(text: &str) -> IfName {
    IfName::new(text).expect("a name")
}

/// A host with the ends `a` and `b` of a veth pair, both up.
#[track_caller]
pub fn host() -> (Host, IfIndex, IfIndex) {
    let host = Host::new("host");
    let pair = Link::named(name("a")).kind(Veth::to(Link::named(name("b"))));
    let mut netlink = host.netlink();
    let a = netlink.create(&pair).expect("a pair");
    let ends = [a.ifindex(), a.lower.expect("its other end")];
    for end in ends {
        netlink.set(&Link::at(end).up(true)).expect("it is up");
    }
    (host, ends[0], ends[1])
}

/// Reads `line` as words of an object.
#[track_caller]
pub fn words<T: AttributeSet>(host: &Host, line: &str) -> T {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let mut names = Names(host.netlink());
    let mut words = Arguments::new(&words, &mut names);
    let mut object = T::default();
    while let Some(word) = words.next() {
        let known = object.parse_keyword(word, &mut words).expect("a value");
        assert!(known, "{word} of {line}");
    }
    object
}

/// The words of an object.
pub fn shown<T: AttributeSet>(host: &Host, object: &T) -> String {
    let mut text = Vec::new();
    object.format_fields(&mut Names(host.netlink()), &mut |word, value| {
        text.extend(
            [word.to_owned(), value]
                .into_iter()
                .filter(|text| !text.is_empty()),
        );
    });
    text.join(" ")
}

/// Names as the kernel has them.
pub struct Names(pub Netlink);

impl NameLookup for Names {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        self.0.link_named(name).ok()?.index
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        Some(self.0.link(index).ok()?.ifname().to_string())
    }
}

/// Asserts that the kernel refused something for `errno`, and returns the error.
#[track_caller]
pub fn refused_with<T: Debug>(result: Result<T, NetlinkError>, errno: Errno) -> NetlinkError {
    let error = result.expect_err("a refusal");
    assert_eq!(error.errno(), Some(errno.raw_os_error()), "{error:?}");
    error
}

/// Asserts that something failed with this text.
#[track_caller]
pub fn assert_error<T: Debug>(result: Result<T, NetlinkError>, text: impl AsRef<str>) {
    let error = result.expect_err("a failure");
    assert_eq!(error.to_string(), text.as_ref());
}

/// Asserts that a request was rejected without being sent to the kernel, and returns the reason.
#[track_caller]
pub fn assert_invalid<T: Debug>(result: Result<T, NetlinkError>) -> String {
    match result.expect_err("a refusal").cause {
        Cause::Invalid(unfit) => unfit.reason.clone(),
        cause => panic!("{cause:?}"),
    }
}

/// Asserts that each of `objects` is rejected without a request to the kernel, for the reason given with it.
#[track_caller]
pub fn assert_unfit<O: Object>(host: &Host, objects: impl IntoIterator<Item = (O, &'static str)>) {
    for (object, reason) in objects {
        assert_eq!(assert_invalid(host.netlink().add(&object)), reason);
    }
}

/// All events that are there now.
#[track_caller]
pub fn drain<O: Object>(watch: &mut Watch<O>) -> Vec<Event<O>> {
    std::iter::from_fn(|| watch.try_next().expect("events")).collect()
}

/// All events that are there now: what happened, and what `of` says of the object as it is after that.
#[track_caller]
pub fn events<O: Object, T>(watch: &mut Watch<O>, of: impl Fn(&O) -> T) -> Vec<(&'static str, T)> {
    let events = drain(watch).into_iter().map(|event| match event {
        Event::Added(object) => ("added", of(&object)),
        Event::Changed { after, .. } => ("changed", of(&after)),
        Event::Removed(object) => ("removed", of(&object)),
        other => panic!("{other:?}"),
    });
    events.collect()
}

/// Returns when there are events; fails after longer than the kernel takes for anything here.
#[track_caller]
pub fn wait_for_events<O: Object>(watch: &Watch<O>, complaint: &str) {
    let deadline = Timespec {
        tv_sec: 10,
        tv_nsec: 0,
    };
    let ready = poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&deadline));
    assert_eq!(ready.expect("waited"), 1, "{complaint}");
}

/// The index of the link `name`.
#[track_caller]
pub fn index(host: &Host, name: &str) -> IfIndex {
    host.netlink().link_named(name).expect("a link").ifindex()
}

/// An address, a prefix, a group.
#[track_caller]
pub fn parse<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("a value")
}

#[track_caller]
pub fn address(text: &str) -> IpAddr {
    parse(text)
}

/// A link of this name.
pub fn named(text: &str) -> Link {
    Link::named(name(text))
}

/// Asserts that the kernel says of an object what was said to it.
#[track_caller]
pub fn assert_reported<O: Object>(host: &Host, wanted: &O) {
    let told = host.netlink().get(wanted).expect("told");
    assert!(Object::matches(&told, wanted), "{told:#?}");
}
