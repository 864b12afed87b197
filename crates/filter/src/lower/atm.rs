//! Terms about ATM.

use crate::error::FilterErrorReason;
use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Width};
use crate::language::tree::{Atm, Circuit, FieldValues};
use crate::link_type::LinkType;
use crate::lower::frame::{Frame, Offset, Tunnel};
use crate::lower::lowering::{FieldBase, Lowered, Lowering, at_most};

/// Offsets in the pseudo-header of SunATM: flags with the type of the protocol, path, channel.
const FLAGS: u32 = 0;
const PATH: u32 = 1;
const CHANNEL: u32 = 2;
/// Length of the pseudo-header.
const HEADER_BYTES: u32 = 4;

/// Types of protocols.
const LAN_EMULATION: u32 = 1;
const LLC: u32 = 2;

/// The marker of a control packet of LAN emulation, in place of the LAN emulation client's number.
const LAN_CONTROL: u32 = 0xff00;
/// Length of the number of the LAN emulation client before the Ethernet header.
const CLIENT_BYTES: u32 = 2;

/// Offset of the message type in a packet of the Q.2931 signalling protocol.
const MESSAGE_TYPE: u32 = 5;
/// Call proceeding, set-up, connect, connect acknowledge, release, release done.
const MESSAGES: [u32; 6] = [0x02, 0x05, 0x07, 0x0f, 0x4d, 0x5a];
const CONNECT_ACKNOWLEDGE: u32 = 0x0f;

impl Lowering<'_> {
    /// Circuits of ATM, and signalling messages.
    pub(super) fn atm(&mut self, atm: &Atm) -> Lowered {
        if self.frame.link != LinkType::SunAtm {
            return Err(self.unsupported(atm.word()));
        }
        match atm {
            Atm::Circuit(Circuit::LanEmulation) => self.lan_emulation(),
            Atm::Circuit(Circuit::MetaSignalling) => self.circuit(&[1]),
            Atm::Circuit(Circuit::Broadcast) => self.circuit(&[2]),
            Atm::Circuit(Circuit::SegmentMaintenance) => self.circuit(&[3]),
            Atm::Circuit(Circuit::EndMaintenance) => self.circuit(&[4]),
            Atm::Circuit(Circuit::Maintenance | Circuit::MaintenanceF4) => self.circuit(&[3, 4]),
            Atm::Circuit(Circuit::Signalling) => self.circuit(&[5]),
            Atm::Circuit(Circuit::LocalManagement) => self.circuit(&[16]),
            Atm::Circuit(Circuit::ConnectMessage) => {
                let circuit = self.circuit(&[5])?;
                Ok(Condition::all([circuit, self.messages(&MESSAGES)?]))
            }
            Atm::Circuit(Circuit::MetaConnect) => {
                let circuit = self.circuit(&[1])?;
                let messages: Vec<u32> = MESSAGES
                    .into_iter()
                    .filter(|message| *message != CONNECT_ACKNOWLEDGE)
                    .collect();
                Ok(Condition::all([circuit, self.messages(&messages)?]))
            }
            Atm::Path(values) => {
                check("VPI", values, 0xff)?;
                let field = self.load(FieldBase::Header, PATH, Width::Byte)?;
                Ok(self.field_values(field, values, |value| value))
            }
            Atm::Channel(values) => {
                check("VCI", values, 0xffff)?;
                let field = self.channel()?;
                Ok(self.field_values(field, values, |value| value))
            }
        }
    }

    fn channel(&mut self) -> Result<ValueId, FilterErrorReason> {
        self.load(FieldBase::Header, CHANNEL, Width::Half)
    }

    /// One of these channels of path 0.
    fn circuit(&mut self, channels: &[u32]) -> Lowered {
        let is_path = self.equal(FieldBase::Header, PATH, Width::Byte, 0)?;
        let field = self.channel()?;
        let tests: Vec<_> = channels
            .iter()
            .map(|channel| self.values.equal(field, *channel))
            .collect();
        Ok(Condition::all([is_path, Condition::any(tests)]))
    }

    /// One of these signalling messages.
    fn messages(&mut self, types: &[u32]) -> Lowered {
        let field = self.load(FieldBase::Header, HEADER_BYTES + MESSAGE_TYPE, Width::Byte)?;
        let tests: Vec<_> = types
            .iter()
            .map(|kind| self.values.equal(field, *kind))
            .collect();
        Ok(Condition::any(tests))
    }

    /// Ethernet over ATM. The terms to its right test the Ethernet frame.
    fn lan_emulation(&mut self) -> Lowered {
        let found = self.protocol_type(LAN_EMULATION)?;
        let header = Offset::fixed(HEADER_BYTES + CLIENT_BYTES);
        self.frame = Frame {
            header,
            link_type: Some(header.plus(12)),
            payload: Some(header.plus(14)),
            tunnel: Some(Tunnel::LanEmulation),
            labels: self.frame.labels,
            vlans: self.frame.vlans,
            ..Frame::of(LinkType::Ethernet)
        };
        Ok(found)
    }

    /// The packet of an emulated LAN is not a control packet.
    pub(super) fn is_lan_data(&mut self) -> Condition {
        let client = self.values.load(Width::Half, None, HEADER_BYTES);
        self.values.equal(client, LAN_CONTROL).negate()
    }

    pub(super) fn is_llc_over_atm(&mut self) -> Lowered {
        self.protocol_type(LLC)
    }

    fn protocol_type(&mut self, number: u32) -> Lowered {
        self.masked(FieldBase::Header, FLAGS, Width::Byte, 0x0f, number)
    }
}

fn check(what: &'static str, values: &FieldValues, most: u32) -> Result<(), FilterErrorReason> {
    for value in values.numbers() {
        at_most(what, *value, most)?;
    }
    Ok(())
}
