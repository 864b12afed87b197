//! Changes to packets and blocks on their way into a copy.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};

use store::block::{self, Block, ByteOrder, COMMENT, Options, RawOption, kind};
use store::model::{Interface, LinkType, Packet, Section, Statistics};
use store::read::Header;

use super::anonymize::{AnonymizationKey, Anonymizer, keeps_option};
use super::delivery::Destination;
use super::duplicates::{DuplicateWindow, Recent};
use super::error::ReadError;
use crate::key_log::KeyLog;

/// Changes to a copy, which [`Read::write_to`](super::Read::write_to) makes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Edits {
    /// Comments that the first section gets in addition to its own.
    pub section_comments: Vec<String>,
    /// Comments that a packet gets in addition to its own, by its number among the written packets, from 1.
    pub packet_comments: BTreeMap<u64, Vec<String>>,
    /// Whether the comments of all blocks are left out. `section_comments` and `packet_comments` are added all the same.
    pub strips_comments: bool,
    /// Whether Decryption Secrets Blocks are left out. New ones are added nevertheless.
    pub strips_secrets: bool,
    /// Whether Name Resolution Blocks are left out.
    pub strips_names: bool,
    /// Nanoseconds to add to all times. Times before 1970 become 1970, those after 2554 the last one.
    pub shift_ns: i64,
    /// Sort the packets of each section by time, with at most this many bytes of memory for packets that wait for earlier ones, and
    /// one packet. Packets with equal times keep their order; one without a time follows the packet before it. Blocks that are no
    /// packets do not wait. [`ReadSummary::unsorted`](super::ReadSummary::unsorted) counts packets that came too late. Other edits
    /// apply to the sorted packets. Default: packets keep their order.
    pub sort_bytes: Option<NonZeroU64>,
    /// Which packets with the same bytes as an earlier one are left out. Default: none.
    pub duplicates: Option<DuplicateWindow>,
    /// Start a new file at multiples of this many nanoseconds after the first packet. Default: never.
    pub split_ns: Option<NonZeroU64>,
    /// Write the packets of each flow, both directions together, to a file of its own, for at most this many flows. Its
    /// name is that of the output with a number, the protocol, the addresses and the ports. Fragments and packets without
    /// ports belong to the flow of their protocol between their hosts. Packets that are not IP, those of further flows,
    /// statistics and other blocks go to the file with the number 0. At most 512 files are open at the same time, fewer if
    /// headers, names and secrets are long; one that is opened again begins another section. Packets also go to the file with the
    /// number 0 once headers, names and secrets are repeated so often that they take more than 256 MiB and 16 times the bytes of
    /// the packets. Default: flows are not split.
    pub flow_files_max: Option<NonZeroUsize>,
    /// TLS keys, with which Wireshark decrypts the packets.
    pub key_log: Option<KeyLog>,
    /// Whether addresses are replaced by others that depend on this key, and everything else is left out that could
    /// tell who communicates: see [`Anonymizer`]. Of blocks that are no packets only interfaces and statistics stay,
    /// and of options those without addresses and text.
    pub anonymize: Option<AnonymizationKey>,
}

impl Edits {
    /// Whether no packet and no block is changed. Sorting and splitting change none.
    pub fn is_empty(&self) -> bool {
        self.section_comments.is_empty()
            && self.packet_comments.is_empty()
            && !self.strips_comments
            && !self.strips_secrets
            && !self.strips_names
            && self.shift_ns == 0
            && self.duplicates.is_none()
            && self.key_log.is_none()
            && self.anonymize.is_none()
    }

    /// Whether a copy keeps an option of a block of the type `block`.
    fn keeps(&self, block: u32, option: &RawOption<'_>) -> bool {
        match self.anonymize {
            Some(_) => keeps_option(block, option.code, option.value.len()),
            None => option.code != COMMENT || !self.strips_comments,
        }
    }

    /// The options that are kept, with `comments` in addition.
    fn options<'a>(
        &self,
        options: Options<'_>,
        block: u32,
        comments: &[String],
        scratch: &'a mut Vec<u8>,
    ) -> Options<'a> {
        scratch.clear();
        for option in options {
            if self.keeps(block, &option) {
                let bytes = option.bytes;
                Options { bytes, ..options }.append_to(block, scratch);
                if self.anonymize.is_some() {
                    // Programs may leave anything in the padding.
                    let padding = bytes.len() - 4 - option.value.len();
                    let end = scratch.len();
                    scratch[end - padding..].fill(0);
                }
            }
        }
        for comment in comments {
            block::append_option(scratch, COMMENT, comment.as_bytes());
        }
        Options {
            bytes: scratch,
            order: ByteOrder::NATIVE,
        }
    }

    /// The header of a section, edited, and its options. `comments` are added.
    pub(super) fn section(
        &self,
        section: &Section,
        options: Options<'_>,
        comments: &[String],
    ) -> (Section, Vec<u8>) {
        let mut edited = section.clone();
        if self.anonymize.is_some() {
            edited = Section {
                application: edited.application,
                ..Section::default()
            };
        }
        if self.strips_comments {
            edited.comment = None;
        }
        let mut bytes = Vec::new();
        self.options(options, kind::SECTION, comments, &mut bytes);
        // Without options, the fields are written, which say the same.
        (edited, bytes)
    }

    fn time(&self, time_ns: Option<u64>) -> Option<u64> {
        time_ns.map(|time_ns| time_ns.saturating_add_signed(self.shift_ns))
    }
}

/// What the edits did to packets and comments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EditCounts {
    /// Packets not written because an earlier packet has the same bytes.
    pub duplicates: u64,
    /// Packets of which anonymizing left no bytes.
    pub emptied: u64,
    /// Packets whose shifted time would be before 1970 or after 2554: they have the first or the last possible time.
    pub limited_times: u64,
    /// Comments for packets that were not written.
    pub unused_comments: u64,
}

/// A copy whose contents are edited.
pub(super) struct EditedCopy<'a, C> {
    edits: &'a Edits,
    copy: &'a mut C,
    /// Packets written so far.
    number: u64,
    counts: EditCounts,
    /// The packets to compare with.
    recent: Option<Recent>,
    anonymizer: Option<Anonymizer>,
    /// The link types of all interfaces, which anonymizing needs.
    link_types: Vec<LinkType>,
    scratch: Vec<u8>,
}

impl<'a, C: Destination> EditedCopy<'a, C> {
    pub(super) fn new(edits: &'a Edits, copy: &'a mut C) -> Result<Self, ReadError> {
        let mut edited = Self {
            edits,
            copy,
            number: 0,
            counts: EditCounts::default(),
            recent: edits.duplicates.map(Recent::new),
            anonymizer: edits.anonymize.as_ref().map(Anonymizer::new),
            link_types: Vec::new(),
            scratch: Vec::new(),
        };
        edited.add_secrets()?;
        Ok(edited)
    }

    /// What the edits did so far.
    pub(super) fn counts(&self) -> EditCounts {
        let unused = self.edits.packet_comments.range(self.number + 1..);
        let unused_comments: u64 = unused.map(|(_, comments)| comments.len() as u64).sum();
        EditCounts {
            unused_comments,
            ..self.counts
        }
    }

    /// Adds the keys to the section that has begun.
    fn add_secrets(&mut self) -> Result<(), ReadError> {
        let Some(keys) = &self.edits.key_log else {
            return Ok(());
        };
        self.copy.block(&Block {
            kind: kind::SECRETS,
            order: ByteOrder::NATIVE,
            body: &keys.secrets(),
        })
    }
}

impl<C: Destination> Destination for EditedCopy<'_, C> {
    fn add_interface(
        &mut self,
        mut interface: Interface,
        options: Options<'_>,
    ) -> Result<(), ReadError> {
        if self.edits.strips_comments {
            interface.comment = None;
        }
        self.link_types.push(interface.link_type);
        if self.anonymizer.is_some() {
            interface = Interface {
                name: interface.name,
                speed_bps: interface.speed_bps,
                ..Interface::new(interface.link_type, interface.snaplen)
            };
        }
        let options = self
            .edits
            .options(options, kind::INTERFACE, &[], &mut self.scratch);
        self.copy.add_interface(interface, options)
    }

    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ReadError> {
        let time_ns = packet.timestamp_ns.unwrap_or(0);
        let recent = self.recent.as_mut();
        if recent.is_some_and(|recent| recent.has(time_ns, packet.bytes)) {
            self.counts.duplicates += 1;
            return Ok(());
        }
        self.number += 1;
        let is_beyond = |time_ns: u64| time_ns.checked_add_signed(self.edits.shift_ns).is_none();
        self.counts.limited_times += u64::from(packet.timestamp_ns.is_some_and(is_beyond));
        let mut packet = Packet {
            timestamp_ns: self.edits.time(packet.timestamp_ns),
            ..*packet
        };
        if let Some(anonymizer) = &mut self.anonymizer {
            let interface = packet.interface as usize;
            let link_type = self.link_types.get(interface);
            // 65535 is not assigned: nothing stays.
            let link_type = link_type.map_or(u16::MAX, |link_type| link_type.0);
            let captured = packet.bytes.len();
            packet.bytes = anonymizer.packet(link_type, packet.bytes);
            self.counts.emptied += u64::from(packet.bytes.is_empty() && captured > 0);
            packet.toeplitz = None;
            packet.packet_id = None;
            packet.process_id = None;
        }
        let comments = self.edits.packet_comments.get(&self.number);
        if comments.is_some() || self.edits.strips_comments || self.edits.anonymize.is_some() {
            let comments = comments.map_or(&[][..], Vec::as_slice);
            packet.comment = None;
            let options = packet.options;
            packet.options = self
                .edits
                .options(options, kind::PACKET, comments, &mut self.scratch);
        }
        self.copy.packet(&packet)
    }

    fn statistics(
        &mut self,
        statistics: &Statistics,
        options: Options<'_>,
    ) -> Result<(), ReadError> {
        let mut edited = statistics.clone();
        for time in [
            &mut edited.timestamp_ns,
            &mut edited.start_ns,
            &mut edited.end_ns,
        ] {
            *time = self.edits.time(*time);
        }
        if self.edits.strips_comments || self.edits.anonymize.is_some() {
            edited.comment = None;
        }
        let options = self
            .edits
            .options(options, kind::STATISTICS, &[], &mut self.scratch);
        self.copy.statistics(&edited, options)
    }

    fn section(&mut self, header: &Header) -> Result<(), ReadError> {
        let options = Options {
            bytes: &header.options,
            order: header.byte_order,
        };
        let mut header = header.clone();
        (header.section, header.options) = self.edits.section(&header.section, options, &[]);
        header.byte_order = ByteOrder::NATIVE;
        self.copy.section(&header)?;
        self.add_secrets()
    }

    fn block(&mut self, block: &Block<'_>) -> Result<(), ReadError> {
        let is_stripped = match block.kind {
            kind::SECRETS => self.edits.strips_secrets,
            kind::NAMES => self.edits.strips_names,
            _ => false,
        };
        if is_stripped || self.edits.anonymize.is_some() {
            return Ok(());
        }
        if self.edits.strips_comments
            && let Some(start) = block.options_start()
        {
            let options = Options::parse(&block.body[start..], block.order);
            self.scratch.clear();
            self.scratch.extend_from_slice(&block.body[..start]);
            for option in options.into_iter().filter(|option| option.code != COMMENT) {
                self.scratch.extend_from_slice(option.bytes);
            }
            if self.scratch.len() > start {
                // opt_endofopt
                self.scratch.extend([0; 4]);
            }
            return self.copy.block(&Block {
                body: &self.scratch,
                ..*block
            });
        }
        self.copy.block(block)
    }

    fn accepts_blocks(&self) -> bool {
        false
    }

    fn blocks(&mut self, _: &[u8], _: u64) -> Result<(), ReadError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReadError> {
        self.copy.flush()
    }
}
