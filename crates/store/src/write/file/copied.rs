//! Blocks of other files, with all of their options.

use super::super::WriteError;
use super::super::pcapng;
use super::super::preface::Preface;
use super::CaptureFile;
use crate::block::{Block, ByteOrder, Options, kind};
use crate::model::{Interface, Statistics};

/// Blocks of secrets that are written at once: a file may begin while the log has many.
const MAX_SECRETS_BLOCKS: usize = 64;

impl CaptureFile {
    /// As [`add_interface`](Self::add_interface), with all options of an interface of another file. If there are
    /// any, they are written instead of the fields, except the unit of time.
    ///
    /// # Errors
    /// As [`add_interface`](Self::add_interface).
    pub fn copy_interface(
        &mut self,
        interface: Interface,
        options: Options<'_>,
    ) -> Result<u32, WriteError> {
        let block = self.encoder.describe(&interface, options)?;
        if self.sink.is_some() && !block.is_empty() {
            // Alone in the buffer: it cannot be lost together with packets and then be missing for others.
            self.flush()?;
            self.append(&block)?;
            self.flush()?;
            let statistics = self.encoder.statistics_bytes();
            self.budget.reserve(block.len() as u64 + statistics);
        }
        Ok(self.encoder.add(interface, options))
    }

    /// Adds a block of another file behind the packets so far. Later files of a rotation begin with its names and
    /// secrets, up to 16 MiB in all. Does nothing in a pcap file.
    ///
    /// # Errors
    /// As for [`write`](Self::write), about the files.
    pub fn copy_block(&mut self, block: &Block<'_>) -> Result<(), WriteError> {
        if self.encoder.unit().is_some() {
            return Ok(());
        }
        let encoded = block.encode();
        self.append_now(&encoded)?;
        let _ = self.encoder.preface.repeat(block.kind, encoded);
        Ok(())
    }

    /// Adds statistics of another file behind the packets so far. If there are `options`, they are written instead
    /// of the fields, except the times. Does nothing in a pcap file.
    ///
    /// # Errors
    /// As for [`write`](Self::write), about the files.
    pub fn copy_statistics(
        &mut self,
        statistics: &Statistics,
        options: Options<'_>,
    ) -> Result<(), WriteError> {
        if self.encoder.unit().is_some() {
            return Ok(());
        }
        self.append_now(&pcapng::statistics(statistics, options))
    }

    /// Begins another section. Packets then refer to its interfaces, from 0. Does nothing in a pcap file.
    ///
    /// # Errors
    /// As for [`write`](Self::write), about the files.
    pub fn begin_section(&mut self, preface: Preface) -> Result<(), WriteError> {
        if self.encoder.unit().is_some() {
            return Ok(());
        }
        self.append_now(&preface.encode())?;
        self.encoder.begin_section(preface);
        self.encoder.preface.forget_once();
        Ok(())
    }

    /// `blocks`, or else the buffer, behind blocks of all new secrets, up to [`MAX_SECRETS_BLOCKS`]. `None` if there are no
    /// secrets.
    pub(super) fn new_secrets(&mut self, blocks: Option<&[u8]>) -> Option<Vec<u8>> {
        let source = self.secrets.as_mut()?;
        let data = blocks.unwrap_or_else(|| self.buffer.filled());
        // The header of a file, which has the earlier secrets, comes first.
        let is_begun = self.sink.as_ref().is_some_and(|sink| sink.bytes() > 0);
        if data.is_empty() || !is_begun || self.encoder.unit().is_some() {
            return None;
        }
        let mut all = Vec::new();
        for _ in 0..MAX_SECRETS_BLOCKS {
            let Some(body) = source() else {
                break;
            };
            let block = Block {
                kind: kind::SECRETS,
                order: ByteOrder::NATIVE,
                body: &body,
            };
            let encoded = block.encode();
            all.extend_from_slice(&encoded);
            self.budget.reserve(encoded.len() as u64);
            let _ = self.encoder.preface.repeat(block.kind, encoded);
        }
        if all.is_empty() {
            return None;
        }
        all.extend_from_slice(data);
        Some(all)
    }

    fn append_now(&mut self, blocks: &[u8]) -> Result<(), WriteError> {
        if self.sink.is_none() {
            self.make_way(blocks.len(), 0)?;
        }
        self.append(blocks)?;
        self.budget.reserve(blocks.len() as u64);
        Ok(())
    }
}
