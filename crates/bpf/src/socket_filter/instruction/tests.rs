//! Compares the offsets with the kernel's header as a C compiler lays it out.

use std::fmt::Write as _;
use std::process::Command;

use super::skb;

#[test]
fn the_context_lies_as_in_the_kernels_header() {
    let fields = [
        ("len", skb::LEN),
        ("pkt_type", skb::PKT_TYPE),
        ("mark", skb::MARK),
        ("queue_mapping", skb::QUEUE_MAPPING),
        ("protocol", skb::PROTOCOL),
        ("vlan_present", skb::VLAN_PRESENT),
        ("vlan_tci", skb::VLAN_TCI),
        ("vlan_proto", skb::VLAN_PROTO),
        ("ifindex", skb::IFINDEX),
        ("hash", skb::HASH),
    ];
    let mut source = String::from("#include <linux/bpf.h>\n#include <stddef.h>\n");
    for (field, offset) in fields {
        let claim = format!("offsetof(struct __sk_buff, {field}) == {offset}");
        writeln!(source, "_Static_assert({claim}, \"{field}\");").unwrap();
    }
    let path = std::env::temp_dir().join(format!("tapline-skb-{}.c", std::process::id()));
    std::fs::write(&path, source).unwrap();
    let output = Command::new("cc").arg("-fsyntax-only").arg(&path).output();
    std::fs::remove_file(&path).unwrap();
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
