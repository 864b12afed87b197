//! The part of a program in docs/guide/existing-tools.md, in a program that captures.

use std::fs;

use lab::generator::udp_frame;
use lab::{Net, wait};

use crate::support::{BOTH, Library, built, compile_source, repository, room, start};

/// What surrounds the part: it receives packets until there are as many as were sent.
const PROGRAM: &str = r#"
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
INCLUDES
int main(int argc, char **argv)
{
    char line[16], errbuf[PCAP_ERRBUF_SIZE];
    if (argc != 3)
        return 1;
    pcap_t *pcap = pcap_open_live(argv[2], 65535, 0, 10, errbuf);
    if (pcap == NULL)
        return 1;
    puts("ready");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL)
        return 1;
    struct pcap_pkthdr *header;
    const u_char *bytes;
    for (int left = atoi(line); left > 0;)
        left -= pcap_next_ex(pcap, &header, &bytes);
    BODY
    pcap_close(pcap);
    return 0;
}
"#;

#[test]
fn the_account_of_the_guide_is_printed_where_the_library_has_one() {
    let page = repository().join("docs/guide/existing-tools.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, block) = page.split_once("```c ").expect("a block of C");
    let (_, block) = block.split_once('\n').expect("a line");
    let (block, _) = block.split_once("```").expect("its end");
    let (includes, body) = block.split_once("\n\n").expect("includes first");
    let text = PROGRAM.replace("INCLUDES", includes).replace("BODY", body);
    let source = built().join(format!("guide-{}.c", std::process::id()));
    fs::write(&source, text).expect("a file");
    let include = format!("-I{}", room().join("include").display());
    let program = compile_source(
        &source,
        "guide",
        &["-D_GNU_SOURCE", "-Wno-misleading-indentation", &include],
    );
    for library in BOTH {
        let [left, right] = Net::new().pair();
        let interface = right.interface().name.to_string();
        let mut running = start(&right, library, &program, &["guide", &interface]);
        running.ready();
        left.send((0..20).map(|_| udp_frame(100)));
        wait::until("the packets arrive", || right.counters().rx_packets >= 20);
        running.tell(20);
        let lines = running.finish();
        match library {
            Library::Libpcap => assert!(lines.is_empty(), "{lines:?}"),
            Library::Tapline => assert_eq!(lines, ["20 delivered, 0 filtered, 0 lost by the ring"]),
        }
    }
}
