//! What the copy of a capture could not hold.

use std::fmt;

use store::block::{Options, kind};
use store::model::{Packet, Section};

/// `if_tsresol` and `if_tsoffset`, which a pcap file does not need: its times have a fixed unit.
const TIME_OPTIONS: [u16; 2] = [9, 14];

/// What a job that writes a file left out because the format cannot hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Packets that had options, such as comments and flags.
    pub packet_options: u64,
    /// Packets without a time, which got the time 0.
    pub packet_times: u64,
    /// Packets whose time was truncated to microseconds.
    pub truncated_times: u64,
    /// Interfaces that had options, such as a name.
    pub interface_options: u64,
    /// Sections that had options, such as the operating system.
    pub section_options: u64,
    /// Interface Statistics Blocks.
    pub statistics: u64,
    /// Name Resolution Blocks.
    pub names: u64,
    /// Decryption Secrets Blocks.
    pub secrets: u64,
    /// systemd Journal Export Blocks.
    pub journal: u64,
    /// Blocks of other types.
    pub other_blocks: u64,
    /// Blocks of unknown types whose contents keep the byte order of their file, which the copy does not have.
    pub kept_foreign: u64,
    /// Options of section headers on which several inputs do not agree, and those of later sections: the copy of several
    /// inputs has one section.
    pub merged_options: u64,
}

impl LeftOut {
    pub(super) fn add_section(&mut self, section: &Section, options: Options<'_>) {
        let is_any =
            section.comment.is_some() || section.os.is_some() || section.hardware.is_some();
        self.section_options += u64::from(is_any || !options.is_empty());
    }

    pub(super) fn add_interface(&mut self, options: Options<'_>) {
        let is_any = options
            .into_iter()
            .any(|option| !TIME_OPTIONS.contains(&option.code));
        self.interface_options += u64::from(is_any);
    }

    #[inline]
    pub(super) fn add_packet(&mut self, packet: &Packet<'_>, has_nanoseconds: bool) {
        self.packet_options += u64::from(!packet.options.is_empty());
        self.packet_times += u64::from(packet.timestamp_ns.is_none());
        let is_truncated = |time_ns: u64| !has_nanoseconds && !time_ns.is_multiple_of(1000);
        self.truncated_times += u64::from(packet.timestamp_ns.is_some_and(is_truncated));
    }

    pub(super) fn add_block(&mut self, block: u32) {
        let counter = match block {
            kind::NAMES => &mut self.names,
            kind::SECRETS => &mut self.secrets,
            kind::JOURNAL => &mut self.journal,
            _ => &mut self.other_blocks,
        };
        *counter += 1;
    }

    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for LeftOut {
    /// One clause, such as "left out: options of 3 packets, 1 block of secrets".
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.packet_options, "packets with options"),
            (self.packet_times, "packets without a time"),
            (self.interface_options, "interfaces with options"),
            (self.section_options, "sections with options"),
            (self.statistics, "blocks of statistics"),
            (self.names, "blocks of names"),
            (self.secrets, "blocks of secrets"),
            (self.journal, "journal entries"),
            (self.other_blocks, "other blocks"),
        ];
        let text: Vec<_> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{what} ({count})"))
            .collect();
        if !text.is_empty() {
            write!(
                out,
                "left out, since pcap cannot hold it: {}",
                text.join(", ")
            )?;
        }
        let mut separator = if text.is_empty() { "" } else { "; " };
        if self.truncated_times > 0 {
            let count = self.truncated_times;
            write!(
                out,
                "{separator}time stamps truncated to microseconds ({count})"
            )?;
            separator = "; ";
        }
        if self.kept_foreign > 0 {
            let count = self.kept_foreign;
            write!(
                out,
                "{separator}{count} blocks of unknown types keep the other byte order of their file"
            )?;
            separator = "; ";
        }
        if self.merged_options > 0 {
            write!(
                out,
                "{separator}left out, since merged files have one section: options of section headers ({})",
                self.merged_options
            )?;
        }
        Ok(())
    }
}
