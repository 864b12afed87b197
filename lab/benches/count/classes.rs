//! The classes that are counted.

/// A row of the table.
pub struct Row {
    pub name: &'static str,
    pub filters: Vec<String>,
}

/// All rows, the fewest classes first.
pub fn rows() -> Vec<Row> {
    let row = |name, filters: Vec<String>| Row { name, filters };
    vec![
        row("1 class: all packets", vec![String::new()]),
        row("1 class: tcp port 443", vec!["tcp port 443".into()]),
        row("1 class: host", vec!["host 10.1.0.1".into()]),
        row(
            "2 classes",
            vec!["tcp port 443".into(), "host 10.1.0.1".into()],
        ),
        row("16 classes of hosts and ports", hosts_and_ports(16)),
        row("64 classes of hosts and ports", hosts_and_ports(64)),
    ]
}

/// In turn a host, a TCP port, a UDP port, and a network with a port. The frames belong to a few.
pub fn hosts_and_ports(count: usize) -> Vec<String> {
    let filter = |number: usize| {
        let port = 443 + number / 4;
        match number % 4 {
            0 => format!("host 10.1.0.{}", number + 1),
            1 => format!("tcp port {port}"),
            2 => format!("udp port {}", port - 390),
            _ => format!("src net 10.{number}.0.0/16 and port {port}"),
        }
    };
    (0..count).map(filter).collect()
}
