//! What the environment says about object storage: where to connect, and which values are secret.

use std::env;
use std::path::PathBuf;

/// Of HTTPS, and of the services that give a machine its credentials.
const PORTS: [u16; 2] = [443, 80];

/// The setting that leads uploads to Azurite on this host, and its port.
pub const AZURE_EMULATOR: &str = "AZURE_STORAGE_USE_EMULATOR";
const AZURITE_PORT: u16 = 10_000;

/// Words in the names of variables whose values are secret.
const SECRET: [&str; 6] = [
    "KEY",
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "SAS",
    "SERVICE_ACCOUNT",
];

/// Variables with files that are read again, because their credentials expire.
const TOKEN_FILES: [&str; 3] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AZURE_FEDERATED_TOKEN_FILE",
];

/// Printed instead of a secret value.
const HIDDEN: &str = "(secret)";

/// Shorter values would hide parts of words.
const SHORTEST_SECRET: usize = 4;

fn is_about_storage(name: &str) -> bool {
    [
        "AWS_",
        "AZURE_",
        "AZURITE_",
        "GCE_METADATA_",
        "GOOGLE_",
        "IDENTITY_",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// The variables that are text.
pub fn variables() -> impl Iterator<Item = (String, String)> {
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The ports to which uploads connect.
pub fn ports() -> Vec<u16> {
    let more = variables().filter_map(|(name, value)| port_of(&name, &value));
    let azurite = is_on(AZURE_EMULATOR).then_some(AZURITE_PORT);
    let mut ports: Vec<u16> = PORTS.into_iter().chain(more).chain(azurite).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Whether a setting of the environment is on, as object_store reads it.
pub fn is_on(name: &str) -> bool {
    let value = env::var(name).unwrap_or_default();
    ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str())
}

/// The port that a variable names, if it says where to connect.
fn port_of(name: &str, value: &str) -> Option<u16> {
    let upper = name.to_ascii_uppercase();
    let is_proxy = upper.ends_with("_PROXY") && upper != "NO_PROXY";
    if !is_proxy && !is_about_storage(name) {
        return None;
    }
    // Without a scheme, the client of HTTP takes both for hosts of HTTP.
    let is_host = is_proxy || name.starts_with("GCE_METADATA_");
    if is_host && !value.contains("://") {
        return port(&format!("http://{value}"));
    }
    port(value)
}

/// The port that a URL names.
fn port(url: &str) -> Option<u16> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let host = host.rsplit('@').next()?;
    let (name, port) = host.rsplit_once(':')?;
    // Colons are part of addresses in brackets.
    if name.starts_with('[') && !name.ends_with(']') {
        return None;
    }
    port.parse().ok()
}

/// The directories of files with credentials that expire. Renewed files are often links that are replaced.
pub fn token_directories() -> Vec<PathBuf> {
    let files = TOKEN_FILES.iter().filter_map(env::var_os);
    files
        .filter_map(|file| PathBuf::from(file).parent().map(PathBuf::from))
        .filter(|directory| !directory.as_os_str().is_empty())
        .collect()
}

/// The text without secret values of the environment, and as one line.
pub fn printable(text: &str) -> String {
    let secrets = variables().filter(|(name, value)| {
        let is_secret = SECRET.iter().any(|word| name.contains(word));
        is_secret && is_about_storage(name) && value.len() >= SHORTEST_SECRET
    });
    hide(text, secrets.map(|(_, value)| value)).replace(char::is_control, " ")
}

fn hide(text: &str, secrets: impl Iterator<Item = String>) -> String {
    secrets.fold(text.to_owned(), |text, secret| {
        text.replace(&secret, HIDDEN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_urls() {
        for (name, value, expected) in [
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000", Some(9000)),
            (
                "HTTPS_PROXY",
                "https://user:1234@proxy:3128/path:80",
                Some(3128),
            ),
            ("HTTPS_PROXY", "127.0.0.1:3128", Some(3128)),
            ("https_proxy", "user:1234@proxy:3128/", Some(3128)),
            ("all_proxy", "[::1]:3128", Some(3128)),
            ("HTTP_PROXY", "proxy", None),
            ("NO_PROXY", "10.0.0.1:3128", None),
            ("GCE_METADATA_HOST", "169.254.169.254:8080", Some(8080)),
            ("AWS_ENDPOINT_URL", "http://[::1]:9000/", Some(9000)),
            ("AWS_ENDPOINT_URL", "http://[::1]/", None),
            ("AWS_ENDPOINT_URL", "https://storage", None),
            ("AZURE_STORAGE_USE_EMULATOR", "true", None),
            ("AWS_ENDPOINT_URL", "http://host:port", None),
            ("ELSEWHERE", "http://127.0.0.1:9000", None),
        ] {
            assert_eq!(port_of(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn secrets_are_hidden() {
        let secrets = ["wJalrXUtnFEMI".to_owned()].into_iter();
        assert_eq!(hide("bad key wJalrXUtnFEMI!", secrets), "bad key (secret)!");
    }
}
