//! The listings that `tapline filter --emit` prints.

use crate::corpus::names::Table;
use crate::corpus::{entries, options_of};
use std::collections::HashSet;
use tapline_filter::{Filter, FilterErrorReason, FilterOptions, LinkType, NoNames};

fn ethernet(text: &str) -> Filter {
    Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).unwrap()
}

/// All filters of the corpus that can match a packet, with their texts and options.
fn corpus_filters() -> Vec<(String, FilterOptions, Filter)> {
    let mut filters = Vec::new();
    for entry in entries("accept.json") {
        let options = options_of(&entry);
        for text in entry["expressions"].as_array().into_iter().flatten() {
            let text = text.as_str().unwrap();
            match Filter::new(text, &options, &Table) {
                Ok(filter) => filters.push((text.to_owned(), options, filter)),
                Err(error) => assert_eq!(error.reason, FilterErrorReason::RejectsAll, "{text}"),
            }
        }
    }
    assert!(filters.len() > 300);
    filters
}

#[test]
fn the_tree_has_inherited_qualifiers() {
    let filter = ethernet("tcp dst port 80 or 443 and not (host 1.2.3.4 or 10.1.1.1 or vlan 7)");
    let tree = "\
and
  or
    tcp dst port 80
    tcp dst port 443
  not
    or
      host 1.2.3.4
      host 10.1.1.1
      vlan 7
";
    assert_eq!(filter.tree().to_string(), tree);
}

/// The filter that the lines of a tree denote.
fn text_of(lines: &mut std::iter::Peekable<std::str::Lines<'_>>) -> String {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let line = lines.next().unwrap();
    let mut inner = Vec::new();
    while lines.peek().is_some_and(|next| depth(next) > depth(line)) {
        inner.push(text_of(lines));
    }
    match line.trim_start() {
        "not" => format!("not ({})", inner[0]),
        "and" => format!("(({}))", inner.join(") and (")),
        "or" => format!("(({}))", inner.join(") or (")),
        "every packet" => String::new(),
        term => term.to_owned(),
    }
}

#[test]
fn the_terms_of_a_tree_compile_to_the_same_filter() {
    for (text, options, filter) in corpus_filters() {
        let tree = filter.tree().to_string();
        let read = text_of(&mut tree.lines().peekable());
        let again = Filter::new(&read, &options, &Table);
        let again = again.unwrap_or_else(|error| panic!("{text}: {read}: {error}"));
        let listing = |filter: &Filter| filter.graph().to_string();
        assert_eq!(listing(&filter), listing(&again), "{text}: {read}");
    }
}

#[test]
fn a_graph_is_listed_from_top_to_bottom() {
    let filter = ethernet("udp[4:2] > 1000 and not vlan 10 and ip[tcpflags] & 2 != 0");
    // An IPv4 packet has no tag: the outcome of `vlan` is known, and only its offset shift remains.
    let graph = "\
0: packet[12:2] == 0x800 ? 1 : 7
1: packet[23] == 17 ? 2 : 7
2: packet[20:2] & 0x1fff != 0 ? 7 : 3
3: packet[(4 * (packet[14] & 0xf)) + 18:2] > 0x3e8 ? 4 : 7
4: packet[16:2] == 0x800 ? 5 : 7
5: packet[31] & 2 != 0 ? 6 : 7
6: keep 262144 bytes
7: refuse
";
    assert_eq!(filter.graph().to_string(), graph);
}

#[test]
fn a_graph_shows_sets_by_their_size() {
    let hosts: Vec<String> = (0..10_000u32)
        .map(|host| format!("src host 10.1.{}.{}", host >> 7, host << 1 & 0xff))
        .collect();
    let filter = ethernet(&format!("ip and ({})", hosts.join(" or ")));
    let graph = filter.graph().to_string();
    assert!(
        graph.contains(" in set ") && graph.contains("(10000 "),
        "{graph}"
    );
    assert!(graph.len() < 1000, "no set is written out");
    assert!(filter.dot().to_string().len() < 2000);
}

/// Checks a statement of the `dot` language; supports the few that are used.
///
/// Returns the node that it defines, or the two that it connects.
fn statement(line: &str) -> Option<(String, Option<String>)> {
    let (head, attributes) = match line.strip_suffix(';')?.split_once(" [") {
        Some((head, rest)) => (head, rest.strip_suffix(']')?),
        None => (line.strip_suffix(';')?, ""),
    };
    let is_id = |text: &str| {
        text.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && text.chars().all(|letter| letter.is_ascii_alphanumeric())
    };
    let (mut rest, mut count) = (attributes, 0);
    while !rest.is_empty() {
        let (name, value) = rest.split_once('=')?;
        let end = match value.strip_prefix('"') {
            Some(quoted) => quoted.find('"')? + 2,
            None => value.find(',').unwrap_or(value.len()),
        };
        let text = value[..end].trim_matches('"');
        let is_quoted = value.starts_with('"');
        if !is_id(name) || text.contains(['"', '\\']) || !(is_quoted || is_id(text)) {
            return None;
        }
        rest = value[end..].trim_start_matches(", ");
        count += 1;
    }
    match head.split_once(" -> ") {
        Some((from, to)) if is_id(from) && is_id(to) => Some((from.into(), Some(to.into()))),
        None if is_id(head) && count > 0 => Some((head.into(), None)),
        _ => None,
    }
}

#[test]
fn dot_listings_follow_the_grammar_of_dot() {
    for (text, _, filter) in corpus_filters() {
        let dot = filter.dot().to_string();
        let body = dot.strip_prefix("digraph filter {\n").unwrap();
        let body = body.strip_suffix("}\n").unwrap();
        let (mut nodes, mut ends) = (HashSet::new(), HashSet::new());
        for line in body.lines() {
            let read = statement(line.trim_start());
            match read.unwrap_or_else(|| panic!("{text}: {line}")) {
                (node, None) if node != "node" => assert!(nodes.insert(node), "{text}: {line}"),
                (_, None) => {}
                (from, Some(to)) => ends.extend([from, to]),
            }
        }
        assert!(ends.is_subset(&nodes), "{text}: {dot}");
        assert_eq!(nodes.len(), filter.graph().to_string().lines().count());
    }
}

#[test]
fn successors_in_a_graph_listing_are_below() {
    for (text, _, filter) in corpus_filters() {
        let graph = filter.graph().to_string();
        let count = graph.lines().count();
        for (at, line) in graph.lines().enumerate() {
            let targets: Vec<usize> = match (line.rsplit_once(" ? "), line.rsplit_once(", then ")) {
                (Some((_, targets)), _) => {
                    targets.split(" : ").map(|to| to.parse().unwrap()).collect()
                }
                (None, Some((_, target))) => vec![target.parse().unwrap()],
                (None, None) => {
                    assert!(
                        line.ends_with(": refuse") || line.ends_with(" bytes"),
                        "{line}"
                    );
                    continue;
                }
            };
            assert!(
                targets.iter().all(|&to| at < to && to < count),
                "{text}:\n{graph}"
            );
        }
    }
}
