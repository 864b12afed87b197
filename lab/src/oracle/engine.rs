use filter::Filter;
use filter::classic::ClassicProgram;
use filter::native;

use super::packet::Packet;

/// One filter in something that runs it.
pub trait Engine {
    /// What it is called in reports.
    fn name(&self) -> &'static str;

    /// Whether it can be asked about `packet`.
    fn answers(&self, _packet: &Packet) -> bool {
        true
    }

    /// How many bytes of `packet` to keep; 0 refuses it.
    fn value(&mut self, packet: &Packet) -> u32;
}

/// The walk through our graph.
impl Engine for Filter {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    fn value(&mut self, packet: &Packet) -> u32 {
        self.run(&packet.bytes, packet.original_len, &packet.ancillary)
    }
}

/// Our classic program in our machine.
impl Engine for ClassicProgram {
    fn name(&self) -> &'static str {
        "classic"
    }

    fn value(&mut self, packet: &Packet) -> u32 {
        self.run_with(&packet.bytes, packet.original_len, &packet.ancillary)
    }
}

/// Our native code.
impl Engine for native::NativeProgram {
    fn name(&self) -> &'static str {
        "native"
    }

    fn value(&mut self, packet: &Packet) -> u32 {
        self.run_with(&packet.bytes, packet.original_len, &packet.ancillary)
    }
}
