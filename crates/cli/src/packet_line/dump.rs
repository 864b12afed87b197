//! The bytes of a packet, below its line.

use super::buffer::Text;
use super::options::{Dump, DumpForm};

/// Bytes on a line.
const ROW: usize = 16;
/// Columns of the hexadecimal part: a blank and four digits for each two bytes.
const HEX_COLUMNS: usize = ROW / 2 * 5;

/// Appends the bytes in tcpdump's format. Every line starts with a tab, so that no packet can forge a line.
pub fn write_dump(out: &mut Text, bytes: &[u8], dump: Dump) {
    if dump.form == DumpForm::Ascii {
        return write_ascii(out, bytes);
    }
    for (row, bytes) in bytes.chunks(ROW).enumerate() {
        out.push_str("\t0x");
        out.hex((row * ROW) as u32, 4);
        out.push_str(": ");
        for (index, &byte) in bytes.iter().enumerate() {
            out.push_str(if index % 2 == 0 { " " } else { "" });
            out.hex(byte.into(), 2);
        }
        if dump.form == DumpForm::HexAscii {
            let columns = bytes.len().div_ceil(2) + bytes.len() * 2;
            for _ in columns..HEX_COLUMNS {
                out.push(' ');
            }
            out.push_str("  ");
            for &byte in bytes {
                push_printable(out, byte);
            }
        }
        out.push('\n');
    }
}

/// Text as it is, with a dot for every unprintable byte. Its line ends are kept.
fn write_ascii(out: &mut Text, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    out.push('\t');
    let mut rest = bytes.iter().peekable();
    while let Some(&byte) = rest.next() {
        match byte {
            b'\r' if rest.peek() == Some(&&b'\n') => {}
            b'\n' if rest.peek().is_some() => out.push_str("\n\t"),
            b'\n' => {}
            b' ' => out.push(' '),
            _ => push_printable(out, byte),
        }
    }
    out.push('\n');
}

fn push_printable(out: &mut Text, byte: u8) {
    let is_printable = byte.is_ascii_graphic();
    out.push(if is_printable { byte.into() } else { '.' });
}
