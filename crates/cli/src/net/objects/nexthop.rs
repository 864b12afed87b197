//! `tapline nexthop`: nexthop objects, as ip-nexthop(8).

use tapline::net::schema::{Arguments, Parsed};
use tapline::net::{Detail, Family, Nexthop, Verb};

use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record, json_fields, remove_defaults};
use crate::net::syntax::CommandSyntax;
use crate::net::verbs::{self, Verbs};

impl CommandSyntax for Nexthop {
    const OBJECT: &'static str = "nexthop";
    const VERBS: Verbs = verbs::RULE;
    const FLUSHES_ALL: bool = true;

    fn parse_arguments(_: Verb, _: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        Self::read_words(words)
    }

    fn is_one(&self) -> bool {
        self.id.is_some()
    }

    fn print(&self, record: &mut Record, names: &mut Names, level: DetailLevel) {
        let fields = match record {
            Record::Text(text) => return *text = self.line(level.into(), names),
            Record::Json(fields) => fields,
        };
        *fields = json_fields(self, &["dev"], names);
        // `onlink` is one of the flags.
        for key in ["family", "onlink"] {
            fields.remove(key);
        }
        record.flag("blackhole", self.blackhole);
        record.flag("fdb", self.fdb);
        if let (false, Record::Json(fields)) = (level.details, record) {
            remove_defaults(fields, &[("protocol", "unspec"), ("scope", "global")]);
        }
    }
}

impl From<DetailLevel> for Detail {
    fn from(level: DetailLevel) -> Self {
        if level.details {
            Self::All
        } else {
            Self::Usual
        }
    }
}
