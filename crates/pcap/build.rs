//! Names the shared library, so that programs linked with it ask for this version.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtapline_pcap.so.1");
    // Set by tools/libpcap-fuzz.sh.
    println!("cargo::rustc-check-cfg=cfg(fuzzing)");
    // Its own calls stay inside, also where a program has loaded libpcap before.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
