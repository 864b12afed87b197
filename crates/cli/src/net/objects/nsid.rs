//! The numbers (nsid) of network namespaces in `monitor` and in `netns list-id`.

use tapline::net::schema::{Arguments, InvalidValue, Parsed};
use tapline::net::{Family, NamespaceNumber, Verb};

use crate::net::names::Names;
use crate::net::output::{DetailLevel, Record};
use crate::net::syntax::CommandSyntax;

impl CommandSyntax for NamespaceNumber {
    const OBJECT: &'static str = "netns";

    /// Namespace names are files, so a batch of netlink messages cannot change them.
    fn parse_arguments(_: Verb, _: Option<Family>, words: &mut Arguments<'_>) -> Parsed<Self> {
        let word = words.next().or(Some("netns"));
        Err(InvalidValue::new("a command that a batch can run", word))
    }

    fn forget(&self, names: &mut Names) {
        names.forget_namespace(self.nsid.unwrap_or_default());
    }

    fn print(&self, record: &mut Record, names: &mut Names, _: DetailLevel) {
        record.json("nsid", self.nsid);
        record.text(format_args!("nsid {}", self.nsid.unwrap_or_default()));
        record.field("current-nsid", "current-nsid", self.current_nsid);
        // Names are cached by the number in the namespace of this command.
        let nsid = self.current_nsid.or(self.nsid);
        let name = nsid.and_then(|nsid| names.namespace(nsid));
        if let Some(name) = &name {
            record.text(format_args!(" (iproute2 netns name: {name})"));
        }
        record.json("name", name);
    }
}
