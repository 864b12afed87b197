//! Settings of object storage in the environment. They are checked first: the client of object storage panics on some of them.

use std::env;
use std::fs;
use std::str::FromStr;

use reqwest::Url;

use super::environment::variables;
use super::url::Service;

/// Variables with URLs to which a client connects.
const ENDPOINTS: [&str; 12] = [
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_METADATA_ENDPOINT",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "GOOGLE_BASE_URL",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_MSI_ENDPOINT",
    "AZURE_IDENTITY_ENDPOINT",
    "IDENTITY_ENDPOINT",
];

/// The same as a path, or as a host that may have a port.
const PLACES: [&str; 4] = [
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "GCE_METADATA_HOST",
    "GCE_METADATA_IP",
    "GCE_METADATA_ROOT",
];

/// They have several lines.
const TEXTS: [&str; 2] = ["GOOGLE_SERVICE_ACCOUNT_KEY", "PROXY_CA_CERTIFICATE"];

/// gcloud's application default credentials, in the directory of the user.
const GCLOUD_FILE: &str = ".config/gcloud/application_default_credentials.json";

/// The file of a token that is sent as it is.
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

const UNPRINTABLE: &str = "has a line break or another control character";

const AZURE_ACCOUNT: &str = "AZURE_STORAGE_ACCOUNT_NAME";

/// Variables that each give credentials for a service.
fn of_credentials(service: Service) -> &'static [&'static str] {
    match service {
        Service::S3 => &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_SKIP_SIGNATURE",
        ],
        Service::Google => &[
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "SERVICE_ACCOUNT",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_BEARER_TOKEN",
            "GOOGLE_SKIP_SIGNATURE",
        ],
        Service::Azure => &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_MASTER_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_TOKEN",
            "AZURE_STORAGE_CLIENT_SECRET",
            "AZURE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_STORAGE_USE_EMULATOR",
            "AZURE_SKIP_SIGNATURE",
        ],
    }
}

/// Which credentials may be set, if none are.
fn usual_credentials(service: Service) -> &'static str {
    match service {
        Service::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        Service::Google => "GOOGLE_APPLICATION_CREDENTIALS",
        Service::Azure => "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
    }
}

/// The prefixes of a service's variables.
fn prefixes(service: Service) -> &'static [&'static str] {
    match service {
        Service::S3 => &["AWS_"],
        Service::Google => &["GOOGLE_", "GCE_METADATA_"],
        Service::Azure => &["AZURE_", "IDENTITY_"],
    }
}

/// The variables that are set and not empty: templates of containers set empty ones.
fn settings() -> impl Iterator<Item = (String, String)> {
    variables().filter(|(_, value)| !value.is_empty())
}

/// Refuses settings that no request can carry. Names the variable, and never its value.
pub fn check(service: Service) -> Result<(), String> {
    let is_of_service = |name: &String| prefixes(service).iter().any(|one| name.starts_with(one));
    settings()
        .filter(|(name, _)| is_of_service(name))
        .try_for_each(|(name, value)| check_value(&name, &value))
}

fn check_value(name: &str, value: &str) -> Result<(), String> {
    let is_text = TEXTS.iter().any(|text| name.ends_with(text));
    if !is_text && value.contains(char::is_control) {
        return Err(format!("{name} {UNPRINTABLE}"));
    }
    if name == TOKEN_FILE
        && fs::read_to_string(value).is_ok_and(|token| token.contains(char::is_control))
    {
        return Err(format!("the token in the file of {name} {UNPRINTABLE}"));
    }
    if ENDPOINTS.contains(&name) && endpoint(value).is_none() {
        return Err(format!(
            "{name} is not a URL of HTTP or HTTPS with a host (for example https://minio.example:9000)"
        ));
    }
    if PLACES.contains(&name) && value.contains(|byte: char| !byte.is_ascii_graphic()) {
        return Err(format!(
            "{name} has a space or a character that is not ASCII"
        ));
    }
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if name == AZURE_ACCOUNT && !value.bytes().all(is_name) {
        return Err(format!(
            "{name} is not the name of a storage account (lower-case letters and digits)"
        ));
    }
    Ok(())
}

/// The URL of an endpoint, as requests carry it.
fn endpoint(value: &str) -> Option<String> {
    let url = Url::parse(value).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_whole = value.contains("://") && !value.contains(char::is_whitespace);
    (is_web && is_whole).then(|| url.as_str().trim_end_matches('/').to_owned())
}

/// The settings of a client whose variables begin with `prefix`.
pub fn of_client<K: FromStr>(prefix: &str) -> impl Iterator<Item = (K, String)> {
    settings().filter_map(move |(name, value)| {
        let key = name
            .starts_with(prefix)
            .then(|| name.to_ascii_lowercase())?;
        let value = if ENDPOINTS.contains(&&*name) {
            endpoint(&value)?
        } else {
            value
        };
        Some((key.parse().ok()?, value))
    })
}

/// The value of a variable.
pub fn value(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The first variable that gives credentials.
pub fn credentials(service: Service) -> Option<&'static str> {
    let mut names = of_credentials(service).iter().copied();
    names.find(|name| value(name).is_some())
}

/// What to add to a failure if no credentials are set.
pub fn missing_credentials(service: Service) -> Option<String> {
    let has_file = || {
        let home = env::home_dir().filter(|_| service == Service::Google);
        home.is_some_and(|home| home.join(GCLOUD_FILE).exists())
    };
    let usual = usual_credentials(service);
    let is_missing = credentials(service).is_none() && !has_file();
    is_missing
        .then(|| format!("no credentials are set ({usual}), only those of this machine are used"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_a_scheme_and_a_host() {
        for (value, expected) in [
            ("http://127.0.0.1:9000", Some("http://127.0.0.1:9000")),
            ("https://Storage/path/", Some("https://storage/path")),
            ("http://[::1]:9000/", Some("http://[::1]:9000")),
            (
                "https://bücher.example",
                Some("https://xn--bcher-kva.example"),
            ),
            ("127.0.0.1:9000", None),
            ("localhost:9000", None),
            ("http:127.0.0.1:9000", None),
            ("http://", None),
            ("http://127.0.0.1 :9000", None),
            ("http://127.0.0.1:9000/a b", None),
            (" http://127.0.0.1:9000", None),
            ("ftp://127.0.0.1", None),
            ("http://127.0.0.1:90000", None),
        ] {
            assert_eq!(endpoint(value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn values_that_no_request_can_carry_are_refused_by_name() {
        for (name, value) in [
            ("AWS_ENDPOINT_URL", "127.0.0.1:9000"),
            ("AWS_ACCESS_KEY_ID", "AKIA\n"),
            ("AWS_SECRET_ACCESS_KEY", "wJal\r\n"),
            ("AWS_SESSION_TOKEN", "FwoG\nZXIv"),
            ("AWS_REGION", "eu-\u{7f}"),
            ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/a b"),
            ("GOOGLE_BEARER_TOKEN", "ya29\n"),
            ("GOOGLE_BASE_URL", "storage"),
            ("GCE_METADATA_HOST", "169.254 .169.254"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "YSBr\n"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "my logs"),
            ("AZURE_STORAGE_ENDPOINT", "127.0.0.1:10000"),
        ] {
            let refused = check_value(name, value).expect_err(name);
            assert!(refused.starts_with(name), "{refused}");
            assert!(!refused.contains(value.trim_end()), "{refused}");
        }
        for (name, value) in [
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "{\n\"type\": 1\n}"),
            ("AWS_PROXY_CA_CERTIFICATE", "-----BEGIN\n"),
            ("GCE_METADATA_HOST", "169.254.169.254:8080"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "store1"),
        ] {
            assert_eq!(check_value(name, value), Ok(()), "{name}");
        }
    }
}
