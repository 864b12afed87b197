//! The list of commands, in groups: clap prints one list.

use std::fmt::Write as _;

use clap::Command;

/// The groups of [`COMMANDS`]. Objects of ip(8) and bridge(8) share a line.
const TITLES: [&str; 4] = ["Packets", "Measurement", NETWORK, OBJECTS];
const NETWORK: &str = "Network configuration";
const OBJECTS: &str = "Network objects, as in ip(8) and bridge(8)";

/// The commands that help shows, by group.
pub const COMMANDS: [&[&str]; 4] = [
    &[
        "capture", "ctl", "read", "flows", "report", "index", "send", "filter", "run", "serve",
    ],
    &["count", "ping", "latency", "doctor", "demo"],
    &["ethtool", "netns", "batch", "monitor", "explain"],
    &[
        "link", "addr", "route", "nexthop", "rule", "neigh", "fdb", "tuntap", "maddr", "vrf",
        "vlan", "mdb",
    ],
];

/// The command with its list of commands in groups.
pub fn grouped(command: Command) -> Command {
    let mut list = String::new();
    let (title_style, name_style) = {
        let styles = command.get_styles();
        (*styles.get_header(), *styles.get_literal())
    };
    for (title, names) in TITLES.iter().zip(COMMANDS) {
        // Writing to a String cannot fail.
        let _ = writeln!(list, "{title_style}{title}:{title_style:#}");
        if *title == OBJECTS {
            let names = names.join(" ");
            let _ = writeln!(list, "  {name_style}{names}{name_style:#}\n");
            continue;
        }
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {name_style}{name:<8}{name_style:#}  {about}");
        }
        list.push('\n');
    }
    // Without an empty line above the usage, the short help fits a screen.
    command.help_template(format!(
        "{{about-with-newline}}{{usage-heading}} {{usage}}\n\n{list}{title_style}Options:{title_style:#}\n{{options}}{{after-help}}"
    ))
}
