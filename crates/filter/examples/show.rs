use tapline_filter::*;
fn main() {
    let text = std::env::args().nth(1).unwrap();
    let f = Filter::new(&text, &Options::new(LinkType::Ethernet), &NoNames).unwrap();
    println!("{}", f.native_listing().unwrap());
}
