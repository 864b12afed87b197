//! Where objects go: `s3://BUCKET/KEY`, `gs://BUCKET/KEY`, `az://CONTAINER/KEY`, and the URLs by which Hadoop and Spark name the
//! latter: `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY`.

use std::fmt;
use std::path::Path;
#[cfg(feature = "objects")]
use std::path::PathBuf;

/// A service of object storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Amazon S3, and servers that speak its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

/// Schemes of URLs. `s3a` is Hadoop's name of S3. `abfs` without TLS does not exist at the service itself: uploads always use it.
const SCHEMES: [(&str, Service); 6] = [
    ("s3", Service::S3),
    ("s3a", Service::S3),
    ("gs", Service::Google),
    ("az", Service::Azure),
    ("abfs", Service::Azure),
    ("abfss", Service::Azure),
];

const UNKNOWN: &str = "the scheme of the URL is none of s3, s3a, gs, az, abfs and abfss (a directory that looks like one is ./NAME)";

/// What follows the account in the names of Azure's hosts.
const AZURE_HOSTS: [&str; 2] = [".dfs.core.windows.net", ".blob.core.windows.net"];

impl Service {
    fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Google => "gs",
            Self::Azure => "az",
        }
    }
}

/// A bucket, and the beginning of the keys in it, or one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectUrl {
    pub service: Service,
    /// The storage account, if an Azure URL names it. Otherwise the environment does.
    pub account: Option<String>,
    pub bucket: String,
    /// Without a slash at either end; may be empty.
    pub key: String,
}

/// Whether `path` is a URL, of whichever service.
pub fn is_url(path: &Path) -> bool {
    split(path).is_some()
}

/// The scheme of a URL and what follows it.
fn split(path: &Path) -> Option<(&str, &str)> {
    let (scheme, rest) = path.to_str()?.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some((scheme, rest))
}

impl ObjectUrl {
    /// Parses a URL; `None` if `path` is none.
    pub fn parse(path: &Path) -> Option<Result<Self, &'static str>> {
        let (scheme, rest) = split(path)?;
        let scheme = scheme.to_ascii_lowercase();
        let known = SCHEMES.iter().find(|(known, _)| *known == scheme);
        Some(match known {
            Some((_, service)) => Self::of(*service, rest),
            None => Err(UNKNOWN),
        })
    }

    /// Errors do not repeat the URL: it may have a password.
    fn of(service: Service, rest: &str) -> Result<Self, &'static str> {
        let (place, key) = rest.split_once('/').unwrap_or((rest, ""));
        let (bucket, account) = match place.rsplit_once('@') {
            Some((container, host)) if service == Service::Azure && !container.contains(':') => {
                (container, Some(account(host)?))
            }
            Some(_) => {
                return Err("credentials are taken from the environment, not from the URL");
            }
            None => (place, None),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if bucket.is_empty() || bucket.starts_with('.') || !bucket.bytes().all(is_name) {
            return Err("use s3://BUCKET/KEY, gs://BUCKET/KEY or az://CONTAINER/KEY");
        }
        let key = key.strip_suffix('/').unwrap_or(key);
        let is_fine = |part: &str| {
            // Files that are not complete have such names in the spool.
            !part.is_empty() && !part.starts_with('.') && !part.contains(char::is_control)
        };
        if !key.is_empty() && !key.split('/').all(is_fine) {
            return Err("no part of a key may be empty or begin with a dot");
        }
        Ok(Self {
            service,
            account: account.map(str::to_owned),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        })
    }

    /// The place of the bucket's objects below the spool.
    #[cfg(feature = "objects")]
    pub fn spooled(&self) -> PathBuf {
        let bucket = match &self.account {
            Some(account) => format!("{}@{account}", self.bucket),
            None => self.bucket.clone(),
        };
        [self.service.scheme(), &bucket].iter().collect()
    }
}

/// The account of an Azure host.
fn account(host: &str) -> Result<&str, &'static str> {
    let account = AZURE_HOSTS.iter().find_map(|end| host.strip_suffix(end));
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    account
        .filter(|name| !name.is_empty() && name.bytes().all(is_name))
        .ok_or("use abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY, or az://CONTAINER/KEY with AZURE_STORAGE_ENDPOINT")
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, bucket, key) = (self.service.scheme(), &self.bucket, &self.key);
        match &self.account {
            Some(account) => write!(f, "abfss://{bucket}@{account}{}/{key}", AZURE_HOSTS[0]),
            None => write!(f, "{scheme}://{bucket}/{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Result<ObjectUrl, &'static str>> {
        ObjectUrl::parse(Path::new(text))
    }

    #[test]
    fn buckets_and_keys_are_told_apart() {
        for (text, shown) in [
            ("s3://logs", "s3://logs/"),
            ("s3://logs/", "s3://logs/"),
            ("s3a://logs/a", "s3://logs/a"),
            ("S3://logs/a", "s3://logs/a"),
            ("gs://logs/net/flows/", "gs://logs/net/flows"),
            ("az://logs/a b/c=d.parquet", "az://logs/a b/c=d.parquet"),
            ("abfs://logs/a", "az://logs/a"),
            (
                "abfss://logs@store1.dfs.core.windows.net/a/b",
                "abfss://logs@store1.dfs.core.windows.net/a/b",
            ),
            (
                "az://logs@store1.blob.core.windows.net",
                "abfss://logs@store1.dfs.core.windows.net/",
            ),
        ] {
            let url = parsed(text).expect("a URL").expect("a bucket");
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.bucket, "logs");
        }
    }

    #[test]
    #[cfg(feature = "objects")]
    fn containers_of_two_accounts_have_two_spools() {
        let spooled = |text| {
            let url = parsed(text).expect("a URL").expect("a container");
            url.spooled()
        };
        assert_eq!(spooled("az://logs/a"), Path::new("az/logs"));
        let one = spooled("abfss://logs@store1.dfs.core.windows.net/a");
        assert_eq!(one, Path::new("az/logs@store1"));
    }

    #[test]
    fn other_names_are_files() {
        for text in [
            "table",
            "s3:/logs",
            "./s3://logs",
            "a b://logs",
            "://a",
            "-",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn no_key_leaves_the_spool() {
        for text in [
            "https://logs.s3.amazonaws.com/key",
            "file:///table",
            "hdfs://logs/key",
            "s3://",
            "s3:///key",
            "s3://..",
            "s3://../key",
            "s3://logs/../key",
            "s3://logs//key",
            "s3://logs/.hidden",
            "s3://logs/a\nb",
            "s3://name:password@logs/key",
            "gs://logs@store1.dfs.core.windows.net/key",
            "abfss://name:password@store1.dfs.core.windows.net/key",
            "abfss://logs@store1.dfs.example.com/key",
            "abfss://logs@../.dfs.core.windows.net/key",
            "abfss://../logs@store1.dfs.core.windows.net/key",
            "abfss://..@store1.dfs.core.windows.net/key",
        ] {
            assert!(matches!(parsed(text), Some(Err(_))), "{text}");
        }
    }
}
