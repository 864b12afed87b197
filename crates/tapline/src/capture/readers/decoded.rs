//! Merged packets for a consumer that takes them one by one.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use store::model::{Interface, Statistics};
use store::read::{BlockDecoder, Reader};
use store::write::{CaptureFile, CaptureFileOptions, Output};

use super::super::account::loss_account::Account;
use super::super::read::consumer::{Consumer, ConsumerError, FileOwner};
use crate::packet::Packet;

/// The file that the merger writes, in memory. Each time the merger has written what is ready, the packets are decoded
/// and passed on.
pub struct Decoded<'c, C> {
    consumer: &'c mut C,
    file: CaptureFile,
    memory: Memory,
    decoder: BlockDecoder,
    /// Packets that the consumer took.
    passed: u64,
}

/// What was written and not decoded, shared with the file.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'c, C: Consumer> Decoded<'c, C> {
    /// Passes packets of `interfaces` to `consumer`.
    pub fn new(consumer: &'c mut C, interfaces: &[Interface]) -> Result<Self, ConsumerError> {
        let memory = Memory::default();
        let output = Output::Stream {
            writer: Box::new(memory.clone()),
            name: "memory".into(),
        };
        let mut options = CaptureFileOptions::new(output, interfaces.to_vec());
        // The rings have truncated the packets.
        options.cut_to_snaplen = false;
        let mut file = CaptureFile::create(options, 0)?;
        file.flush()?;
        let mut header = Reader::from_bytes(memory.take())?;
        while header.next_item()?.is_some() {}
        Ok(Self {
            consumer,
            file,
            memory,
            decoder: header.block_decoder(),
            passed: 0,
        })
    }

    fn pass(&mut self) -> Result<(), ConsumerError> {
        self.file.flush()?;
        let blocks = self.memory.take();
        if blocks.is_empty() {
            return Ok(());
        }
        self.decoder.load(blocks);
        while let Some(packet) = self.decoder.next_packet() {
            self.consumer.packet(&Packet::from(packet))?;
            self.passed += 1;
        }
        Ok(())
    }
}

impl<C: Consumer> FileOwner for Decoded<'_, C> {
    fn file(&mut self) -> &mut CaptureFile {
        &mut self.file
    }
}

impl<C: Consumer> Consumer for Decoded<'_, C> {
    /// The merger writes to the file.
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Ok(self.file.write(packet.record())?)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.pass()?;
        self.file.add_interface(interface.clone())?;
        self.consumer.interface(interface)
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        self.pass()?;
        self.consumer.idle(now_ns)
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        self.consumer.tick(now_ns, account)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        // The consumer is finished, whether it took the last packets or not.
        let passed = self.pass();
        self.consumer.finish(statistics)?;
        passed
    }

    fn lost(&self) -> u64 {
        self.file.packets_accepted() - self.passed + self.consumer.lost()
    }
}
