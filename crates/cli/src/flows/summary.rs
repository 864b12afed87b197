//! What became of all packets and flows.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use tapline::capture::CaptureSummary;
use tapline::flows::{EndReason, FlowAccount, FlowTable, ProtocolClass, Traffic};
use tapline::read::ReadSummary;

use super::ipfix::Sent;
use super::outputs::{Output, Outputs};
use crate::args::FlowsArgs;
use crate::capture::{account_line, lost_json};
use crate::columns::{ColumnOutput, Written};
use crate::metrics::{Family, Sample};
use crate::output::{is_stdout, json};
use crate::read;
use crate::values::units::{binary, counted, grouped};

/// Where the packets came from, and what was lost there.
pub enum Origin<'a> {
    Capture(&'a CaptureSummary),
    Files(&'a ReadSummary),
}

/// The packets by what became of them; the first name is that of metrics.
fn places(account: &FlowAccount) -> [(&'static str, u64); 4] {
    [
        ("in_flows", account.in_flows),
        ("not_ip", account.not_ip),
        ("fragments", account.fragments),
        ("malformed", account.malformed),
    ]
}

/// A job that has ended.
pub struct Ended<'a> {
    pub args: &'a FlowsArgs,
    pub account: &'a FlowAccount,
    pub outputs: &'a Outputs,
    pub columns: Option<&'a ColumnOutput>,
}

impl Ended<'_> {
    /// Where columns were written, and how much.
    fn written(&self) -> Option<(&ColumnOutput, Written)> {
        let columns = self.outputs.columns.as_ref()?;
        Some((self.columns?, Written::from(columns.sink())))
    }
}

pub fn show(ended: &Ended<'_>, origin: &Origin<'_>) -> io::Result<()> {
    let Ended { args, account, .. } = ended;
    if args.json {
        return json::print(&summary_json(ended, origin));
    }
    if args.quiet {
        return Ok(());
    }
    let takes_stdout = args.csv || args.write.as_deref().is_some_and(is_stdout);
    let mut out: Box<dyn Write> = if takes_stdout {
        Box::new(io::stderr())
    } else {
        Box::new(io::stdout())
    };
    match origin {
        Origin::Capture(summary) => account_line(&mut out, None, &summary.account)?,
        Origin::Files(summary) => read::account_line(&mut out, summary)?,
    }
    writeln!(
        out,
        "{} = {} in flows + {} not IP + {} later fragments + {} malformed",
        counted(account.packets, "packet"),
        grouped(account.in_flows),
        grouped(account.not_ip),
        grouped(account.fragments),
        grouped(account.malformed)
    )?;
    let reasons: Vec<String> = EndReason::ALL
        .iter()
        .map(|&reason| (account.ended(reason), reason.name()))
        .filter(|(flows, _)| *flows > 0)
        .map(|(flows, name)| format!("{} {name}", grouped(flows)))
        .collect();
    let reasons = if reasons.is_empty() {
        String::new()
    } else {
        format!(" ({})", reasons.join(", "))
    };
    writeln!(
        out,
        "{}{reasons}; at most {} at the same time, {}",
        counted(account.exported(), "flow"),
        grouped(account.most_flows),
        room(args)
    )?;
    if let Some((columns, written)) = ended.written() {
        columns.print_to(&mut *out, &written, "flow")?;
    }
    let Some(collector) = ended.outputs.collector.as_ref().map(Output::sink) else {
        return Ok(());
    };
    let sent = collector.sent;
    let failed = match sent.failed_flows {
        0 => String::new(),
        1 => "; 1 flow was refused or could not be sent".to_owned(),
        flows => format!(
            "; {} flows were refused or could not be sent",
            grouped(flows)
        ),
    };
    writeln!(
        out,
        "{} sent in {} to {}{failed}",
        counted(sent.flows, "flow"),
        counted(sent.messages, "message"),
        collector.name()
    )
}

fn summary_json(ended: &Ended<'_>, origin: &Origin<'_>) -> Value {
    let Ended {
        args,
        account,
        outputs,
        ..
    } = ended;
    let reasons =
        EndReason::ALL.map(|reason| (reason.name().to_owned(), account.ended(reason).into()));
    let mut object = json!({
        "event": "summary",
        "packets": account.packets,
        "bytes": account.bytes,
    });
    for (name, packets) in places(account) {
        object[name] = packets.into();
    }
    let protocols = ProtocolClass::ALL.map(|class| {
        let traffic = account.of_protocol(class);
        let shown = json!({
            "packets": traffic.packets,
            "bytes": traffic.bytes,
            "ip_bytes": traffic.ip_bytes,
        });
        (class.name().to_owned(), shown)
    });
    object["protocols"] = Value::Object(protocols.into_iter().collect::<Map<_, _>>());
    object["flows"] = account.exported().into();
    object["ended"] = Value::Object(reasons.into_iter().collect::<Map<_, _>>());
    object["most_flows"] = account.most_flows.into();
    object["max_flows"] = args.max_flows.into();
    object["max_memory_bytes"] = FlowTable::memory_bytes(args.max_flows).into();
    match origin {
        Origin::Capture(summary) => {
            let account = &summary.account;
            object["received"] = account.received().into();
            object["delivered"] = account.delivered.into();
            object["filtered"] = account.filtered.into();
            object["lost"] = lost_json(&account.lost);
            object["duration_ns"] = (summary.duration.as_nanos() as u64).into();
        }
        Origin::Files(summary) => {
            object["received"] = summary.received.into();
            object["delivered"] = summary.delivered.into();
            object["filtered"] = summary.filtered.into();
            object["lost"] = json!({ "writer": summary.lost });
        }
    }
    object["columns"] = ended
        .written()
        .map(|(columns, written)| columns.json(&written))
        .into();
    object["ipfix"] = outputs.collector.as_ref().map_or(Value::Null, |output| {
        let collector = output.sink();
        let sent = collector.sent;
        json!({
            "collector": collector.name(),
            "domain": collector.domain(),
            "flows": sent.flows,
            "messages": sent.messages,
            "failed_flows": sent.failed_flows,
        })
    });
    object
}

/// How much memory flows take at most.
pub fn room(args: &FlowsArgs) -> String {
    let bytes = FlowTable::memory_bytes(args.max_flows);
    format!(
        "room for {} in {}",
        counted(args.max_flows as u64, "flow"),
        binary(bytes)
    )
}

/// The counters for Prometheus; `sent` is what a collector was sent.
pub fn families(account: &FlowAccount, sent: Option<Sent>) -> Vec<Family> {
    let of_protocols = |pick: fn(Traffic) -> u64| {
        ProtocolClass::ALL.map(|class| {
            let value = pick(account.of_protocol(class));
            Sample::new([("protocol", class.name())], value)
        })
    };
    let mut families = vec![
        Family::counters(
            "flow_packets",
            "Packets in flows, and packets that belong to none, by reason",
            places(account).map(|(place, value)| Sample::new([("place", place)], value)),
        ),
        Family::counters(
            "flow_protocol_packets",
            "Packets in flows, by protocol",
            of_protocols(|traffic| traffic.packets),
        ),
        Family::counters(
            "flow",
            "Bytes on the wire of packets in flows, by protocol",
            of_protocols(|traffic| traffic.bytes),
        )
        .of_bytes(),
        Family::counters(
            "flow_exports",
            "Exported flows, by what ended them",
            EndReason::ALL
                .map(|reason| Sample::new([("reason", reason.name())], account.ended(reason))),
        ),
        Family::gauges(
            "flows",
            "Flows in the table",
            [Sample::new([], account.flows)],
        ),
    ];
    families.extend(sent.map(ipfix_families).into_iter().flatten());
    families
}

/// What a collector was sent. A datagram that is known to be refused moves its flows from the sent ones to the failed ones: counters must
/// not become less, so that the first one has both.
fn ipfix_families(sent: Sent) -> [Family; 2] {
    let all = sent.flows + sent.failed_flows;
    [
        Family::counters(
            "ipfix_flows",
            "Flows for the collector, with those that failed",
            [Sample::new([], all)],
        ),
        Family::counters(
            "ipfix_failed_flows",
            "Of these, flows that could not be sent, or that the collector's host refused",
            [Sample::new([], sent.failed_flows)],
        ),
    ]
}
