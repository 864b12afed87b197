//! What other programs read in a capture file.

use std::path::Path;

use super::tool;

/// Those fields of each packet, by tshark.
pub fn tshark(file: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut arguments = vec!["-n", "-T", "fields", "-r", file];
    for field in fields {
        arguments.extend(["-e", field]);
    }
    let text = tool("tshark", arguments);
    text.lines()
        .map(|line| line.split('\t').map(String::from).collect())
        .collect()
}

/// One field of each packet, by tshark.
pub fn column<T: std::str::FromStr>(file: &str, field: &str) -> Vec<T> {
    let parse = |row: Vec<String>| {
        let value = row[0].parse().ok();
        value.unwrap_or_else(|| panic!("{field}: {row:?}"))
    };
    tshark(file, &[field]).into_iter().map(parse).collect()
}

/// Every packet's octets, by tshark.
pub fn bytes(file: &str) -> Vec<Vec<u8>> {
    let text = tool("tshark", ["-n", "-T", "jsonraw", "-j", "frame", "-r", file]);
    let frames = text.split("\"frame_raw\"").skip(1);
    frames
        .map(|rest| from_hex(rest.split('"').nth(1).expect("hexadecimal digits")))
        .collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |octet: u8| (octet as char).to_digit(16).expect("a digit") as u8;
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// The options of the file's blocks as `NAME = VALUE`, by Wireshark's dissector of capture files.
pub fn options(file: &str) -> Vec<String> {
    let arguments = [
        "-n",
        "-X",
        "read_format:MIME Files Format",
        "-V",
        "-r",
        file,
    ];
    let text = tool("tshark", arguments);
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Option: "));
    lines.map(str::to_owned).collect()
}

/// The number of packets, on which capinfos, tshark and tcpdump have to agree.
#[track_caller]
pub fn count(file: &str) -> u64 {
    let text = tool("capinfos", ["-TrcM", file]);
    let field = text.trim().rsplit('\t').next().expect("a count");
    let count: u64 = field.parse().expect("a number");
    let lines = |text: String| text.lines().count() as u64;
    assert_eq!(lines(tool("tshark", ["-n", "-r", file])), count, "tshark");
    let is_plain = Path::new(file).extension().is_none_or(|e| e != "zst");
    if is_plain {
        let said = tool("tcpdump", ["-nr", file, "--count"]);
        assert_eq!(said.split(' ').next(), Some(&*count.to_string()), "tcpdump");
    }
    count
}
