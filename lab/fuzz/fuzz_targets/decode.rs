#![no_main]

use wire::dissect::Transport;
use wire::protocol::{ethertype, link_type};
use wire::{Application, Geneve, Gre, Mpls, TcpOptions, Vxlan, dissect, dissect_ethertype};

// The first byte chooses what the rest is: a frame, a payload of a port, TCP options, or a tunnel's header.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    match choice % 16 {
        0..=3 => frame(rest),
        4 => show(Application::of_udp((5000, 53), rest), rest),
        5 => show(Application::of_udp((5353, 5353), rest), rest),
        6 => show(Application::of_udp((67, 68), rest), rest),
        7 => show(Application::of_udp((546, 547), rest), rest),
        8 => show(Application::of_udp((123, 123), rest), rest),
        9 => show(Application::of_udp((443, 5000), rest), rest),
        10 => show(Application::of_tcp((53, 5000), rest), rest),
        11 => show(Application::of_tcp((5000, 443), rest), rest),
        12 => options(rest),
        _ => tunnels(rest),
    }
});

fn frame(bytes: &[u8]) {
    let summary = dissect(link_type::ETHERNET, bytes);
    assert!(summary.extension_types().count() <= wire::MAX_EXTENSIONS);
    options(summary.transport_options);
    let ports = summary.ports().unwrap_or_default();
    let application = match summary.transport {
        Transport::Tcp(_) => Application::of_tcp(ports, summary.payload),
        _ => Application::of_udp(ports, summary.payload),
    };
    show(application, summary.payload);
}

/// Printed text is harmless, and its length is bounded by that of the message.
fn show(application: Option<Application<'_>>, bytes: &[u8]) {
    let Some(application) = application else {
        return;
    };
    for text in [format!("{application}"), format!("{application:#}")] {
        assert!(
            text.bytes().all(|byte| matches!(byte, b' '..=b'~')),
            "{text:?}"
        );
        // Names may be compressed: each record of at least 12 bytes can show some names of 255 bytes, escaped.
        assert!(text.len() <= 2000 + 600 * bytes.len(), "{}", text.len());
    }
}

fn options(bytes: &[u8]) {
    for option in TcpOptions::new(bytes).flatten() {
        let text = option.to_string();
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        assert!(option.sack_ranges().count() <= bytes.len() / 8);
    }
    assert!(TcpOptions::new(bytes).count() <= bytes.len());
}

fn tunnels(bytes: &[u8]) {
    if let Ok((header, rest)) = Vxlan::split(bytes, 0) {
        assert_eq!(rest.len() + Vxlan::LEN, bytes.len());
        let _ = header.vni();
    }
    if let Ok((header, rest)) = Geneve::split(bytes, 0) {
        assert!(rest.len() + Geneve::LEN <= bytes.len());
        let _ = dissect_ethertype(header.protocol(), rest);
    }
    if let Ok((header, rest)) = Gre::split(bytes, 0) {
        assert!(rest.len() + 4 <= bytes.len());
        let _ = (header.key(), dissect_ethertype(header.protocol(), rest));
    }
    if let Ok((entry, rest)) = Mpls::split(bytes, 0) {
        let _ = (entry.label(), entry.ttl(), entry.traffic_class());
        let guessed = Mpls::guess_ethertype(rest).unwrap_or(ethertype::IPV4);
        let _ = dissect_ethertype(guessed, rest);
    }
}
