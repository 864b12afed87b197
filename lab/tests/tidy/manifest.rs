//! Rules for Cargo manifests.

/// The crates by layer. A crate may depend on lower layers only.
const FLOORS: [&[&str]; 8] = [
    &["abi"],
    &["filter", "wire"],
    &["bpf", "ring"],
    &["flow", "netlink", "probe", "store"],
    &["columns"],
    &["tapline"],
    &["c", "cli", "pcap"],
    &["lab"],
];

/// Crates that no library may depend on: async runtimes and loggers.
const UNWANTED: [&str; 6] = ["tokio", "async-std", "smol", "log", "tracing", "env_logger"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Shipped,
    ForTests,
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&room))
}

/// The dependencies of a manifest under the names it uses, without our crates' common prefix.
fn dependencies(manifest: &str) -> Vec<(String, Kind)> {
    let mut found = Vec::new();
    let mut section = None;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_matches(['[', ']']);
            section = kind(header);
            // `[dependencies.name]` describes a single dependency.
            if let Some((table, name)) = header.rsplit_once("dependencies.")
                && let Some(kind) = kind(&format!("{table}dependencies"))
            {
                found.push((bare(name), kind));
            }
        } else if let Some(kind) = section
            && let Some((name, value)) = line.split_once('=')
            && !line.starts_with('#')
        {
            let name = name.trim().split('.').next().unwrap_or_default();
            found.push((bare(package(value).unwrap_or(name)), kind));
        }
    }
    found
}

/// The dependency kind of a section; `None` for other sections.
fn kind(header: &str) -> Option<Kind> {
    match header.rsplit('.').next() {
        Some("dependencies" | "build-dependencies") => Some(Kind::Shipped),
        Some("dev-dependencies") => Some(Kind::ForTests),
        _ => None,
    }
}

/// The package name of a renamed dependency.
fn package(value: &str) -> Option<&str> {
    let (_, after) = value.split_once("package")?;
    after.split('"').nth(1)
}

fn bare(name: &str) -> String {
    let name = name.trim_matches('"');
    name.strip_prefix("tapline-").unwrap_or(name).into()
}

/// Reports dependencies of `room` that do not point to a lower layer. Its tests may also use `lab`.
pub fn upward(room: &str, manifest: &str) -> Vec<String> {
    let Some(own) = floor(room) else {
        return vec![format!("crates/{room}: a room without a floor")];
    };
    let rooms = dependencies(manifest).into_iter();
    let offending = rooms.filter(|(name, kind)| {
        let is_lab_for_tests = name == "lab" && *kind == Kind::ForTests;
        floor(name).is_some_and(|floor| floor >= own) && !is_lab_for_tests
    });
    offending
        .map(|(name, _)| format!("crates/{room}: `{name}` is not below it"))
        .collect()
}

/// The crates that a manifest uses in shipped code.
pub fn shipped_rooms(manifest: &str) -> Vec<String> {
    let found = dependencies(manifest).into_iter();
    let rooms = found.filter(|(name, kind)| *kind == Kind::Shipped && floor(name).is_some());
    rooms.map(|(name, _)| name).collect()
}

/// Reports dependencies that libraries must not have.
pub fn unwanted(room: &str, manifest: &str) -> Vec<String> {
    let shipped = dependencies(manifest)
        .into_iter()
        .filter(|(_, kind)| *kind == Kind::Shipped);
    let found = shipped.filter(|(name, _)| UNWANTED.contains(&name.as_str()));
    found
        .map(|(name, _)| format!("crates/{room}: `{name}` in a library"))
        .collect()
}

#[test]
fn an_upward_or_sideward_dependency_is_found() {
    let forms = [
        "[dependencies]\nROOM.workspace = true",
        "[dependencies]\nROOM = { workspace = true }",
        "[dependencies]\nother = { package = \"tapline-ROOM\", path = \"..\" }",
        "[build-dependencies]\ntapline-ROOM = \"1\"",
        "[dependencies.ROOM]\nworkspace = true",
        "[target.'cfg(unix)'.dependencies]\nROOM.workspace = true",
        "[dev-dependencies]\nROOM.workspace = true",
    ];
    for form in forms {
        for (room, other) in [
            ("ring", "store"),
            ("ring", "bpf"),
            ("abi", "wire"),
            ("store", "lab"),
        ] {
            let manifest = form.replace("ROOM", other);
            let is_lab_for_tests = other == "lab" && form.starts_with("[dev");
            assert_eq!(
                upward(room, &manifest).len(),
                usize::from(!is_lab_for_tests),
                "{manifest}"
            );
        }
        assert_eq!(upward("ring", &form.replace("ROOM", "abi")), [""; 0]);
    }
    assert_eq!(upward("attic", "").len(), 1);
    let other_sections =
        "[package]\nname = \"tapline-ring\"\n[features]\nstore = []\n[dependencies]\n# store = 1";
    assert_eq!(upward("ring", other_sections), [""; 0]);
}

#[test]
fn an_unwanted_dependency_is_found() {
    assert_eq!(
        unwanted(
            "store",
            "[dependencies]\ntokio = \"1\"\nlog.workspace = true"
        )
        .len(),
        2
    );
    assert_eq!(
        unwanted("store", "[dev-dependencies]\ntokio = \"1\""),
        [""; 0]
    );
}
