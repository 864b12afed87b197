//! iproute2 as a witness of what is there, and as a hand that makes it.
use netlink::schema::{Arguments, AttributeSet, NameLookup};
use netlink::{IfIndex, IfName, Link, Netlink, Veth};
use serde_json::Value;
use tapline_lab::Host;

/// What `ip LINE` prints on `host`.
#[track_caller]
pub fn ip(host: &Host, line: &str) -> String {
    let output = output(host, &format!("ip {line}"), &[]);
    assert!(output.status.success(), "ip {line}: {}", said(&output));
    String::from_utf8(output.stdout).expect("text")
}

/// What `ip -json -details -statistics ARGUMENTS` prints on `host`.
#[track_caller]
pub fn ip_json(host: &Host, arguments: &[&str]) -> Value {
    json(host, &format!("ip {}", arguments.join(" ")))
}

/// Runs `line`, e.g. `bridge fdb add …`, on `host`.
#[track_caller]
pub fn run(host: &Host, line: &str) {
    let output = output(host, line, &[]);
    assert!(output.status.success(), "{line}: {}", said(&output));
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
struct Names(Netlink);

impl NameLookup for Names {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        self.0.link_named(name).ok()?.index
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        Some(self.0.link(index).ok()?.ifname().to_string())
    }
}
