//! Where objects go: `s3://BUCKET/KEY`, `gs://BUCKET/KEY`, `az://CONTAINER/KEY`.

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

impl Service {
    const ALL: [Self; 3] = [Self::S3, Self::Google, Self::Azure];

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
    pub bucket: String,
    /// Without a slash at either end; may be empty.
    pub key: String,
}

/// Whether `path` names object storage.
pub fn is_url(path: &Path) -> bool {
    split(path).is_some()
}

/// The service and what follows it.
fn split(path: &Path) -> Option<(Service, &str)> {
    let text = path.to_str()?;
    let of = |service: &Service| {
        let rest = text.strip_prefix(service.scheme())?.strip_prefix("://")?;
        Some((*service, rest))
    };
    Service::ALL.iter().find_map(of)
}

impl ObjectUrl {
    /// Parses a URL; `None` if `path` names no object storage.
    pub fn parse(path: &Path) -> Option<Result<Self, &'static str>> {
        let (service, rest) = split(path)?;
        Some(Self::of(service, rest))
    }

    /// Errors do not repeat the URL: it may have a password.
    fn of(service: Service, rest: &str) -> Result<Self, &'static str> {
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains('@') {
            return Err("credentials are taken from the environment, not from the URL");
        }
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
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        })
    }

    /// The place of the bucket's objects below the spool.
    #[cfg(feature = "objects")]
    pub fn spooled(&self) -> PathBuf {
        [self.service.scheme(), &self.bucket].iter().collect()
    }
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, bucket) = (self.service.scheme(), &self.bucket);
        write!(f, "{scheme}://{bucket}/{}", self.key)
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
            ("gs://logs/net/flows/", "gs://logs/net/flows"),
            ("az://logs/a b/c=d.parquet", "az://logs/a b/c=d.parquet"),
        ] {
            let url = parsed(text).expect("a URL").expect("a bucket");
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.bucket, "logs");
        }
    }

    #[test]
    fn other_names_are_files() {
        for text in ["table", "s3:/logs", "./s3://logs", "http://logs/a", "-"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn no_key_leaves_the_spool() {
        for text in [
            "s3://",
            "s3:///key",
            "s3://..",
            "s3://../key",
            "s3://logs/../key",
            "s3://logs//key",
            "s3://logs/.hidden",
            "s3://logs/a\nb",
            "s3://name:password@logs/key",
        ] {
            assert!(matches!(parsed(text), Some(Err(_))), "{text}");
        }
    }
}
