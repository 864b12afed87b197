//! The tasks of the netlink bench with the rtnetlink crate, on a single-threaded runtime.
//!
//! `rtnetlink-peer METHOD TASK COUNT LINK` runs in an otherwise empty namespace and prints lines of `NAME NANOSECONDS`,
//! like the peers in C. Routes are sent by the crate's own requests with 256 in flight (`flight`), or in batches of the
//! lower-level crate with one acknowledgement per 256 (`batch`).

#![forbid(unsafe_code)]

use std::error::Error;
use std::net::Ipv4Addr;
use std::time::Instant;

use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt};
use rtnetlink::packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::route::{RouteMessage, RouteProtocol};
use rtnetlink::proto;
use rtnetlink::sys::{SocketAddr, protocols::NETLINK_ROUTE};
use rtnetlink::{Handle, LinkIfb, LinkUnspec, RouteMessageBuilder};

type Done = Result<(), Box<dyn Error>>;

/// Number of unread acknowledgements that fit into the default receive buffer.
const UNDER_WAY: u32 = 256;
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [method, task, count, link] = &arguments[..] else {
        return Err("METHOD TASK COUNT LINK".into());
    };
    let (count, link) = (count.parse()?, link.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (connection, handle, _) = rtnetlink::new_connection_with_strict_check()?;
        tokio::spawn(connection);
        match (task.as_str(), method.as_str()) {
            ("links", _) => links(&handle, count).await,
            ("routes", "flight") => flight(&handle, count, link).await,
            ("routes", "batch") => batches(count, link).await,
            ("dump", _) => dump(&handle, count).await,
            _ => Err("no such task".into()),
        }
    })
}

fn print_median(name: &str, mut times: Vec<u128>) {
    times.sort_unstable();
    println!("{name} {}", times[times.len() / 2]);
}

/// Creates links and sets them up.
async fn links(handle: &Handle, count: u32) -> Done {
    let (mut create, mut up) = (Vec::new(), Vec::new());
    for number in 0..count {
        let name = format!("l{number}");
        let begin = Instant::now();
        let link = LinkIfb::new(&name).link_group(7).build();
        handle.link().add(link).execute().await?;
        create.push(begin.elapsed().as_nanos());
    }
    for number in 0..count {
        let asked = handle.link().get().match_name(format!("l{number}"));
        let link = asked.execute().try_next().await?.ok_or("no such link")?;
        let begin = Instant::now();
        let change = LinkUnspec::new_with_index(link.header.index).up().build();
        handle.link().set(change).execute().await?;
        up.push(begin.elapsed().as_nanos());
    }
    print_median("create", create);
    print_median("up", up);
    Ok(())
}

fn route(number: u32, link: u32) -> RouteMessage {
    RouteMessageBuilder::<Ipv4Addr>::new()
        .destination_prefix(Ipv4Addr::from_bits(0x1400_0000 + number), 32)
        .gateway(GATEWAY)
        .output_interface(link)
        .table_id(100)
        .protocol(RouteProtocol::Static)
        .build()
}

fn chunks(count: u32) -> impl Iterator<Item = std::ops::Range<u32>> {
    let firsts = (0..count).step_by(UNDER_WAY as usize);
    firsts.map(move |first| first..(first + UNDER_WAY).min(count))
}

async fn flight(handle: &Handle, count: u32, link: u32) -> Done {
    let begin = Instant::now();
    for chunk in chunks(count) {
        let add = |number| handle.route().add(route(number, link)).execute();
        try_join_all(chunk.map(add)).await?;
    }
    println!("routes {}", begin.elapsed().as_nanos());
    Ok(())
}

async fn batches(count: u32, link: u32) -> Done {
    let (connection, handle, _) = proto::new_connection::<RouteNetlinkMessage>(NETLINK_ROUTE)?;
    tokio::spawn(connection);
    let begin = Instant::now();
    for chunk in chunks(count) {
        let messages = chunk.map(|number| {
            let route = RouteNetlinkMessage::NewRoute(route(number, link));
            let mut message = NetlinkMessage::from(route);
            message.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
            message
        });
        let mut answers = handle.request_batch(messages, SocketAddr::new(0, 0))?;
        while let Some(answer) = answers.next().await {
            if let NetlinkPayload::Error(error) = answer.payload {
                return Err(error.to_io().into());
            }
        }
    }
    println!("routes {}", begin.elapsed().as_nanos());
    Ok(())
}

/// Dumps table 100, filtered by the kernel.
async fn dump(handle: &Handle, rounds: u32) -> Done {
    let mut times = Vec::new();
    let mut count = 0;
    for _ in 0..rounds {
        let mut asked = RouteMessageBuilder::<Ipv4Addr>::new().table_id(100).build();
        asked.header.protocol = RouteProtocol::Unspec;
        asked.header.kind = Default::default();
        let begin = Instant::now();
        let mut routes = std::pin::pin!(handle.route().get(asked).execute());
        count = 0_u64;
        while let Some(route) = routes.try_next().await? {
            std::hint::black_box(&route);
            count += 1;
        }
        times.push(begin.elapsed().as_nanos());
    }
    println!("count {count}");
    print_median("dump", times);
    Ok(())
}
