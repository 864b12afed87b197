//! What Wireshark asks before a capture: interfaces, link types and the options of its dialog.

use std::fmt::Write as _;

use tapline::filter::{CompiledFilter, FilterOptions, FilterTarget, LinkType, SystemNames};
use tapline::net::{Link, net};

use super::capture_host::{ANY, PREFIX, REMOTE};
use super::toolbar::{FILTER, LOG, MODE};
use crate::failure::{Exit, Failure, chain};

/// The interfaces of this host and the controls of the toolbar.
pub fn interfaces() -> Result<String, Failure> {
    let links = net().open()?.list(&Link::default())?.items;
    let names = links
        .into_iter()
        .filter_map(|link| Some(link.name?.to_string()));
    // The kernel allows braces in names, but a sentence cannot contain them.
    let names = names.filter(|name| !name.contains(['{', '}']));
    let mut text = format!("extcap {{version={}}}\n", env!("CARGO_PKG_VERSION"));
    for name in [ANY.to_owned()].into_iter().chain(names) {
        line(
            &mut text,
            format_args!("interface {{value={PREFIX}{name}}}{{display=tapline: {name}}}"),
        );
    }
    line(
        &mut text,
        format_args!("interface {{value={REMOTE}}}{{display=tapline: another host, by SSH}}"),
    );
    line(
        &mut text,
        format_args!(
            "control {{number={FILTER}}}{{type=string}}{{display=Filter}}{{tooltip=Filter of the running capture, as in pcap-filter(7)}}"
        ),
    );
    line(
        &mut text,
        format_args!(
            "control {{number={MODE}}}{{type=selector}}{{display=Mode}}{{tooltip=Whether the stack sees the captured packets}}"
        ),
    );
    line(
        &mut text,
        format_args!(
            "control {{number={LOG}}}{{type=button}}{{role=logger}}{{display=Log}}{{tooltip=Changes, and what was lost}}"
        ),
    );
    line(
        &mut text,
        format_args!("value {{control={MODE}}}{{value=mirror}}{{display=mirror}}{{default=true}}"),
    );
    line(
        &mut text,
        format_args!("value {{control={MODE}}}{{value=drop}}{{display=drop}}"),
    );
    Ok(text)
}

/// The link type of an interface.
pub fn link_type(interface: &str) -> Result<LinkType, Failure> {
    match interface {
        // That of another host is not known before the capture.
        REMOTE => return Ok(LinkType::Ethernet),
        _ if interface == format!("{PREFIX}{ANY}") => return Ok(LinkType::LinuxSll2),
        _ => {}
    }
    let name = interface.strip_prefix(PREFIX).unwrap_or(interface);
    let links = net().open()?.list(&Link::default())?.items;
    let is_it = |link: &&Link| (link.name.as_ref()).is_some_and(|of| of.to_string() == name);
    let Some(link) = links.iter().find(is_it) else {
        let line = format!("there is no interface {interface} ('tshark -D' lists them)");
        return Err(Failure::new(Exit::Failed, line));
    };
    let number = tapline::capture::link_type(link.hardware.unwrap_or_default());
    match number {
        Some(number) => Ok(LinkType::from_number(number)),
        None => Err(Failure::new(
            Exit::Unsupported,
            format!("cannot capture from {name}: its link type is unknown"),
        )),
    }
}

/// The link type as a sentence.
pub fn dlts(interface: &str) -> Result<String, Failure> {
    let link_type = link_type(interface)?;
    let (number, name) = (link_type.number(), link_type.name().unwrap_or("unknown"));
    Ok(format!(
        "dlt {{number={number}}}{{name={name}}}{{display={name}}}\n"
    ))
}

/// What is wrong with a filter; nothing if it is valid.
pub fn filter_error(interface: &str, text: &str) -> Result<String, Failure> {
    let mut options = FilterOptions::new(link_type(interface)?);
    options.target = FilterTarget::Socket;
    let compiled = CompiledFilter::new(text, &options, &SystemNames::new());
    Ok(compiled.map_or_else(|error| format!("{}\n", chain(&error)), |_| String::new()))
}

/// The options of an interface for a dialog.
pub fn options(interface: &str) -> String {
    const ARGUMENTS: [&str; 7] = [
        "{call=--snaplen}{display=Bytes captured per packet}{type=unsigned}{range=1,262144}{tooltip=Empty: whole packets}",
        "{call=--mode}{display=Mode}{type=selector}{tooltip=drop takes received packets from the stack: it does not see them}",
        "{call=--sample}{display=Sample}{type=string}{placeholder=1/100}{tooltip=1/N every N-th packet of each CPU; p=P each packet with this probability; first/TIME one packet of each CPU per TIME}",
        "{call=--direction}{display=Direction}{type=selector}{tooltip=Received packets, sent packets or both}",
        "{call=--no-promisc}{display=No promiscuous mode}{type=boolflag}{default=false}{tooltip=Only packets for this host}",
        "{call=--buffer}{display=Ring size}{type=string}{placeholder=32M}{tooltip=Memory for packets that Wireshark has not taken yet}{group=Advanced}",
        "{call=--timestamp}{display=Time stamp source}{type=selector}{tooltip=hardware: the interface stamps the packets}{group=Advanced}",
    ];
    const VALUES: [(usize, &[&str]); 3] = [
        (1, &["mirror", "drop"]),
        (3, &["both", "in", "out"]),
        (6, &["software", "driver", "hardware", "auto"]),
    ];
    const REMOTE_ARGUMENTS: [&str; 5] = [
        "{call=--ssh-host}{display=Host}{type=string}{required=true}{placeholder=user@host}{tooltip=A host or a name in ssh_config(5); its key must need no password (ssh-agent)}{group=Host}",
        "{call=--remote-interface}{display=Interface}{type=selector}{reload=true}{tooltip=Interface of the host; Load lists them}{group=Host}",
        "{call=--ssh-port}{display=Port}{type=unsigned}{range=1,65535}{group=Host}",
        "{call=--ssh-identity}{display=Private key}{type=fileselect}{mustexist=true}{group=Host}",
        "{call=--remote-command}{display=Command}{type=string}{placeholder=tapline}{tooltip=How the host's shell starts tapline, e.g. sudo tapline}{group=Host}",
    ];
    let mut text = String::new();
    let remote: &[&str] = if interface == REMOTE {
        &REMOTE_ARGUMENTS
    } else {
        &[]
    };
    for (number, argument) in ARGUMENTS.iter().chain(remote).enumerate() {
        line(&mut text, format_args!("arg {{number={number}}}{argument}"));
    }
    for (argument, values) in VALUES {
        for (at, value) in values.iter().enumerate() {
            let default = if at == 0 { "{default=true}" } else { "" };
            line(
                &mut text,
                format_args!(
                    "value {{arg={argument}}}{{value={value}}}{{display={value}}}{default}"
                ),
            );
        }
    }
    if interface == REMOTE {
        text += &remote_interfaces(std::iter::once(ANY));
    }
    text
}

/// The number of `--remote-interface` among the options.
const REMOTE_INTERFACE: usize = 8;

/// Names as values of `--remote-interface`.
pub fn remote_interfaces<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut text = String::new();
    for name in names.filter(|name| !name.contains(['{', '}'])) {
        line(
            &mut text,
            format_args!("value {{arg={REMOTE_INTERFACE}}}{{value={name}}}{{display={name}}}"),
        );
    }
    text
}

fn line(text: &mut String, sentence: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{sentence}");
}
