//! Creates a link with an address and prints what a watch reports about it.

use tapline::net::{Addr, Event, Link, Veth};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut net = tapline::net().open()?;
    let pair = Veth::to(Link::named("example1".parse()?));
    let link = net.create(&Link::named("example0".parse()?).kind(pair))?;
    let mut watch = net.watch(Addr::new().dev(link.ifindex()))?;
    net.add(&Addr::on(link.ifindex(), "192.0.2.1/24".parse()?))?;
    if let Event::Added(addr) = watch.next()? {
        println!("{} is on {}", addr.prefix().ok_or("?")?, link.ifname());
    }
    Ok(())
}
