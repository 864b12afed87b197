//! Creates a bridge with two ports and VLANs, in one batch that is undone if any part fails.
//!
//! Equals, in ip(8) and bridge(8):
//! `ip link add br0 up type bridge vlan_filtering on vlan_default_pvid 0`, for each port
//! `ip link set PORT master br0 up`, and `bridge vlan add dev PORT vid …`.

use std::error::Error;

use tapline::net::{Bridge, Link, OnError, PortVlan, PortVlanFlags};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().ok_or("usage: bridge ACCESS_PORT TRUNK_PORT");
    let (access, trunk) = (word()?, word()?);

    let mut net = tapline::net().open()?;
    let access = net.get(&Link::named(access.parse()?))?.ifindex();
    let trunk = net.get(&Link::named(trunk.parse()?))?.ifindex();

    let settings = Bridge::new().vlan_filtering(true).vlan_default_pvid(0);
    let bridge = Link::named("br0".parse()?).kind(settings).up(true);
    let bridge = net.create(&bridge)?.ifindex();

    let untagged = PortVlanFlags::PVID | PortVlanFlags::UNTAGGED;
    let mut batch = net.batch(OnError::Undo);
    batch
        .set(&Link::at(access).master(bridge).up(true))
        .set(&Link::at(trunk).master(bridge).up(true))
        .add(&PortVlan::on(access, 10).flags(untagged))
        .add(&PortVlan::range(trunk, 10..=20));
    let summary = batch.finish();
    if let Some((item, error)) = summary.failed.into_iter().next() {
        return Err(format!("change {item}: {error}").into());
    }

    for port in net.list(&PortVlan::new())?.items {
        println!(
            "port {} has VLAN {}",
            port.ifindex(),
            port.vlan.unwrap_or(0)
        );
    }
    Ok(())
}
