//! `tapline ethtool`: receive steering and other settings of devices.

use std::io::{self, Write as _};

use serde_json::{Value, json};
use tapline::net::{Channels, Coalescing, RingSizes};
use tapline::steering::{Setting, SteeringDevice, SteeringError, Table};

use crate::args::{EthtoolArgs, EthtoolCommand, SettingKind};
use crate::failure::{Exit, Failure, NO_LINK, chain};
use crate::output::json;

const KINDS: [SettingKind; 6] = [
    SettingKind::Channels,
    SettingKind::Rings,
    SettingKind::Coalesce,
    SettingKind::Rss,
    SettingKind::Ntuple,
    SettingKind::Features,
];

pub fn run(args: &EthtoolArgs) -> Result<Exit, Failure> {
    match &args.command {
        EthtoolCommand::Show { interface, kind } => {
            let mut device = SteeringDevice::open(interface).map_err(|error| failure(&error))?;
            let kinds = KINDS
                .iter()
                .filter(|one| kind.is_none_or(|kind| kind == **one));
            for one in kinds {
                let shown = describe(&mut device, *one).map_err(|error| failure(&error))?;
                match shown {
                    Some(shown) => shown.print(interface, *one, args.json)?,
                    None if kind.is_some() => {
                        let line = format!("the driver of {interface} has no {}", name(*one));
                        return Err(Failure::new(Exit::Unsupported, line));
                    }
                    None => {}
                }
            }
        }
        EthtoolCommand::Set { interface, words } => set(interface, words, args.json)?,
    }
    Ok(Exit::Done)
}

fn name(kind: SettingKind) -> &'static str {
    match kind {
        SettingKind::Channels => "channels",
        SettingKind::Rings => "rings",
        SettingKind::Coalesce => "coalesce",
        SettingKind::Rss => "rss",
        SettingKind::Ntuple => "ntuple",
        SettingKind::Features => "features",
    }
}

/// The settings of one kind.
struct KindSettings {
    /// One for each setting.
    lines: Vec<String>,
    value: Value,
}

impl KindSettings {
    fn print(self, interface: &str, kind: SettingKind, as_json: bool) -> Result<(), Failure> {
        let out = || {
            if as_json {
                let name = name(kind);
                let event = json!({"event": name, "interface": interface, name: self.value});
                return json::print(&event);
            }
            let mut out = io::stdout().lock();
            self.lines
                .iter()
                .try_for_each(|line| writeln!(out, "{line}"))
        };
        out().map_err(|error| Failure::stdout(&error))
    }
}

/// The settings of a kind; `None` if the driver has none.
fn describe(
    device: &mut SteeringDevice,
    kind: SettingKind,
) -> Result<Option<KindSettings>, SteeringError> {
    Ok(match kind {
        SettingKind::Channels => {
            let (ethtool, link) = device.ethtool();
            let Some(all) = ethtool.channels(link)? else {
                return Ok(None);
            };
            let mut most = Channels::new();
            most.receive = all.receive_max;
            most.transmit = all.transmit_max;
            most.other = all.other_max;
            most.combined = all.combined_max;
            let line = limited(&Setting::Channels(all.clone()), &Setting::Channels(most));
            Some(shown(line, json!(all)))
        }
        SettingKind::Rings => {
            let (ethtool, link) = device.ethtool();
            let Some(all) = ethtool.ring_sizes(link)? else {
                return Ok(None);
            };
            let mut most = RingSizes::new();
            most.receive = all.receive_max;
            most.receive_mini = all.receive_mini_max;
            most.receive_jumbo = all.receive_jumbo_max;
            most.transmit = all.transmit_max;
            let line = limited(&Setting::Rings(all.clone()), &Setting::Rings(most));
            Some(shown(line, json!(all)))
        }
        SettingKind::Coalesce => {
            let (ethtool, link) = device.ethtool();
            let all: Option<Coalescing> = ethtool.coalescing(link)?;
            all.map(|all| shown(Setting::Coalescing(all.clone()).to_string(), json!(all)))
        }
        SettingKind::Rss => hash(device)?,
        SettingKind::Ntuple => device.rules()?.map(|rules| KindSettings {
            lines: rules.iter().map(|rule| format!("ntuple {rule}")).collect(),
            value: rules.iter().map(ToString::to_string).collect(),
        }),
        SettingKind::Features => Some(features(device)?),
    })
}

fn shown(line: String, value: Value) -> KindSettings {
    let lines = vec![line];
    KindSettings { lines, value }
}

/// Numbers, and behind them the most that the device has.
fn limited(setting: &Setting, most: &Setting) -> String {
    let most = most.to_string();
    match most.split_once(' ') {
        Some((_, most)) => format!("{setting}  (at most {most})"),
        None => setting.to_string(),
    }
}

fn hash(device: &SteeringDevice) -> Result<Option<KindSettings>, SteeringError> {
    let Some(hash) = device.hash()? else {
        return Ok(None);
    };
    let table = hash.table.unwrap_or_default();
    let key = hash.key.unwrap_or_default();
    let mut lines = Vec::new();
    lines.extend(
        hash.function
            .map(|it| Setting::HashFunction(it).to_string()),
    );
    if !key.is_empty() {
        lines.push(Setting::HashKey(key.clone()).to_string());
    }
    if let Some(most) = table.iter().max() {
        let queues = most.saturating_add(1);
        let equal = Table::Equal(queues);
        let is_equal = equal.queues(table.len()).as_ref() == Some(&table);
        let words = if is_equal {
            equal
        } else {
            Table::Queues(table.clone())
        };
        let entries = table.len();
        lines.push(format!("{}  ({entries} entries)", Setting::Table(words)));
    }
    let fields = device.hashed_fields()?;
    let of_hash = fields
        .iter()
        .map(|(flow, fields)| Setting::HashedFields(*flow, fields.clone()));
    lines.extend(of_hash.map(|setting| setting.to_string()));
    let key: Vec<_> = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let fields = fields
        .into_iter()
        .map(|(flow, fields)| (flow.name().to_owned(), fields.into()));
    let value = json!({
        "function": hash.function.map(tapline::net::HashFunction::name),
        "key": (!key.is_empty()).then(|| key.join(":")),
        "table": table,
        "fields": Value::Object(fields.collect()),
    });
    Ok(Some(KindSettings { lines, value }))
}

fn features(device: &mut SteeringDevice) -> Result<KindSettings, SteeringError> {
    let (ethtool, link) = device.ethtool();
    let features = ethtool.features(link)?;
    let mut names: Vec<_> = features.active.iter().chain(&features.changeable).collect();
    names.sort_unstable();
    names.dedup();
    let mut lines = Vec::new();
    let mut values = Vec::new();
    for name in names {
        let (is_on, is_fixed) = (features.is_active(name), !features.is_changeable(name));
        let state = if is_on { "on" } else { "off" };
        let fixed = if is_fixed { "  (fixed)" } else { "" };
        lines.push(format!("features {name} {state}{fixed}"));
        values.push(json!({"name": name, "on": is_on, "fixed": is_fixed}));
    }
    let value = values.into();
    Ok(KindSettings { lines, value })
}

fn set(interface: &str, words: &[String], as_json: bool) -> Result<(), Failure> {
    let removed = match words {
        [kind, delete, number] if kind == "ntuple" && delete == "delete" => {
            let number = number.parse().map_err(|_| {
                let line =
                    format!("{number:?} is not the number of a rule (see 'tapline ethtool show')");
                Failure::new(Exit::Usage, line)
            })?;
            Some(number)
        }
        _ => None,
    };
    let settings = match removed {
        Some(_) => Vec::new(),
        None => Setting::parse(&words.join(" ")).map_err(|error| failure(&error))?,
    };
    let mut device = SteeringDevice::open(interface).map_err(|error| failure(&error))?;
    if let Some(number) = removed {
        let (ethtool, link) = device.ethtool();
        let result = ethtool.remove_flow_rule(link, number);
        result.map_err(|error| failure(&error.into()))?;
    }
    for setting in &settings {
        let made = device.set(setting).map_err(|error| failure(&error))?;
        // Only the number of a rule is news.
        if let Setting::Rule(rule) = &made
            && !as_json
        {
            let line = writeln!(io::stdout().lock(), "ntuple {rule}");
            line.map_err(|error| Failure::stdout(&error))?;
        }
        if as_json {
            let event =
                json!({"event": "set", "interface": interface, "setting": made.to_string()});
            json::print(&event).map_err(|error| Failure::stdout(&error))?;
        }
    }
    Ok(())
}

/// Why a setting is not shown or changed.
pub fn failure(error: &SteeringError) -> Failure {
    let line = chain(error);
    if let SteeringError::Link(error) = error
        && error.errno() == Some(libc::ENODEV)
    {
        return Failure::new(Exit::Failed, format!("{line} ({NO_LINK})"));
    }
    if error.needs_privilege() {
        let line = format!("{line} (needs CAP_NET_ADMIN; run with sudo or setcap)");
        return Failure::new(Exit::Privilege, line);
    }
    let exit = match error {
        error if error.is_usage() => Exit::Usage,
        error if error.is_unsupported() => Exit::Unsupported,
        _ => Exit::Failed,
    };
    Failure::new(exit, line)
}
