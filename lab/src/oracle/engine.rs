//! The engines that run filters.

use filter::Filter;
use filter::classic::ClassicProgram;
use filter::native;

use super::packet::Packet;

/// One filter in one execution engine.
pub trait Engine {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// Whether the engine can process `packet`.
    fn answers(&self, _packet: &Packet) -> bool {
        true
    }

    /// Runs the filter. Returns how many bytes of `packet` to keep; 0 rejects it.
    fn value(&mut self, packet: &Packet) -> u32;
}

/// Our interpreter, which walks the filter's graph.
impl Engine for Filter {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    fn value(&mut self, packet: &Packet) -> u32 {
        self.run(&packet.bytes, packet.original_len, &packet.ancillary)
    }
}

/// Our classic program in our classic BPF interpreter.
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
