//! What we ask for is read as meant.

use netlink::codec::{Request, messages};
use netlink::{Addr, Fdb, Link, NamespaceNumber, Neigh, Object, Route, Rule, Verb};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tapline_lab::oracle::Random;

use super::compare::{Told, differences};
use super::fix::Fix;
use super::rows::of_json;
use super::{spec, theirs};

/// Objects made of each specification.
const ROUNDS: u64 = 300;

/// One of what a specification allows: of an object some fields, of a text between bars one, of a number one up
/// to it, of a switch either.
fn choose(spec: &Value, random: &mut Random) -> Value {
    match spec {
        Value::Object(fields) => {
            let mut chosen = Map::new();
            for (key, value) in fields {
                let key = match key.strip_prefix('!') {
                    Some(key) => key,
                    None if random.one_in(2) => continue,
                    None => key,
                };
                chosen.insert(key.to_owned(), choose(value, random));
            }
            chosen.into()
        }
        Value::Array(items) => items.iter().map(|item| choose(item, random)).collect(),
        Value::String(text) => {
            let choices: Vec<&str> = text.split('|').collect();
            (*random.pick(&choices)).into()
        }
        Value::Number(most) => {
            let most = most.as_u64().expect("a number that is not negative");
            (1 + random.number() % most).into()
        }
        Value::Bool(_) => random.one_in(2).into(),
        Value::Null => Value::Null,
    }
}

/// Makes requests of `spec` and returns how they are misread.
fn compare<O: Fix + Serialize + DeserializeOwned>(spec: &Value, verbs: &[Verb]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut said = 0_u64;
    for round in 0..ROUNDS {
        let mut random = Random::new(round);
        let chosen = choose(spec, &mut random);
        let object: O = serde_json::from_value(chosen.clone())
            .unwrap_or_else(|error| panic!("{error}: {chosen}"));
        let again = serde_json::to_value(&object).expect("JSON");
        let lost = of_json(&chosen).into_keys();
        let kept = of_json(&again);
        let lost: Vec<String> = lost.filter(|key| !kept.contains_key(key)).collect();
        assert!(lost.is_empty(), "{lost:?} of {chosen}");
        assert_eq!(serde_json::from_value::<O>(again).expect("JSON"), object);
        for verb in verbs {
            let mut request = Request::default();
            if object.encode(*verb, &mut request).is_err() {
                continue;
            }
            said += 1;
            request.finish(1);
            let message = messages(request.bytes())
                .next()
                .expect("one")
                .expect("well formed");
            let (kind, body) = (message.kind, message.body);
            wrong.extend(differences(Told::ByUs, &object, kind, body));
        }
    }
    assert!(said > ROUNDS / 2, "{said} of {}", O::NAME);
    wrong.sort();
    wrong.dedup();
    wrong
}

#[test]
fn what_we_ask_for_is_read_as_meant() {
    let mut wrong = Vec::new();
    for kind in spec::links() {
        wrong.extend(compare::<Link>(&kind, &[Verb::Set]));
    }
    wrong.extend(compare::<Addr>(&spec::addr(), &[Verb::Add, Verb::Replace]));
    for spec in spec::routes() {
        wrong.extend(compare::<Route>(&spec, &[Verb::Add, Verb::Replace]));
    }
    wrong.extend(compare::<Rule>(&spec::rule(), &[Verb::Add, Verb::Del]));
    wrong.extend(compare::<Neigh>(
        &spec::neigh(),
        &[Verb::Add, Verb::Replace],
    ));
    wrong.extend(compare::<Fdb>(&spec::fdb(), &[Verb::Add, Verb::Append]));
    wrong.extend(compare::<NamespaceNumber>(&spec::nsid(), &[Verb::Add]));
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Messages of nexthops, multicast groups and VLANs of ports have no type there.
#[test]
fn messages_that_they_do_not_know() {
    let unknown = [
        ("RTM_NEWNEXTHOP", netlink::Nexthop::MESSAGES.new),
        ("RTM_NEWMDB", netlink::Mdb::MESSAGES.new),
        ("RTM_NEWVLAN", netlink::PortVlan::MESSAGES.new),
    ];
    for (name, kind) in unknown {
        theirs::rows(kind, &[0; 8]).expect_err(name);
    }
}
