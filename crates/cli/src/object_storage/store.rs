//! Uploads a file as an object, which appears whole.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path as Key;
use object_store::{ClientConfigKey, Error as StoreError, ObjectStore, PutOptions, RetryConfig};

use super::environment::{AZURE_EMULATOR, is_on};
use super::journal::{self, Journal, Upload};
use super::queue::{FailureKind, UploadFailure};
use super::settings;
use super::url::{ObjectUrl, Service};

/// Larger files are uploaded in parts of this size, one at a time: it bounds the memory.
const PART_BYTES: u64 = 8 << 20;

/// Parts of an upload, at most: S3 allows 10 000.
const MOST_PARTS: u64 = 9_000;

/// A request that takes longer fails, and is made again. A part that is sent in this time needs 1.1 Mbit/s.
const REQUEST: &str = "60s";

const TIMEOUT: ClientConfigKey = ClientConfigKey::Timeout;

/// Requests are made again a few times at once; after that, the queue waits.
const RETRIES: usize = 2;
const RETRY: Duration = Duration::from_secs(20);

/// How long the first look at a bucket may take.
const CHECK: Duration = Duration::from_secs(15);

trait Objects: ObjectStore + MultipartStore + PaginatedListStore {}

impl<S: ObjectStore + MultipartStore + PaginatedListStore> Objects for S {}

/// A bucket.
pub struct Store {
    objects: Box<dyn Objects>,
    /// What to add to a failure if no credentials are set.
    hint: Option<String>,
}

/// Why a file was not uploaded.
pub enum UploadError {
    /// It no longer exists.
    Vanished,
    /// It cannot be read.
    File(UploadFailure),
    Service(UploadFailure),
}

impl From<StoreError> for UploadError {
    fn from(error: StoreError) -> Self {
        Self::Service((&error).into())
    }
}

impl From<io::Error> for UploadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Vanished,
            _ => Self::File((&error).into()),
        }
    }
}

impl Store {
    /// The bucket of a URL, with the credentials and settings of the environment. Does not connect.
    ///
    /// Reads the certificates of the system, and files that the environment names.
    pub fn new(url: &ObjectUrl) -> Result<Self, UploadFailure> {
        // Another provider may be there already, which then serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry = RetryConfig {
            max_retries: RETRIES,
            retry_timeout: RETRY,
            ..RetryConfig::default()
        };
        let bucket = &url.bucket;
        let built: Result<Box<dyn Objects>, StoreError> = match url.service {
            Service::S3 => {
                let mut builder = AmazonS3Builder::new();
                for (key, value) in settings::of_client("AWS_") {
                    builder = builder.with_config(key, value);
                }
                if env::var_os("AWS_TIMEOUT").is_none() {
                    builder = builder.with_config(AmazonS3ConfigKey::Client(TIMEOUT), REQUEST);
                }
                let builder = builder.with_bucket_name(bucket).with_retry(retry);
                builder.build().map(|store| Box::new(store) as _)
            }
            Service::Google => {
                let mut builder = GoogleCloudStorageBuilder::new();
                if let Some(path) = settings::value("SERVICE_ACCOUNT") {
                    builder = builder.with_service_account_path(path);
                }
                for (key, value) in settings::of_client("GOOGLE_") {
                    builder = builder.with_config(key, value);
                }
                if env::var_os("GOOGLE_TIMEOUT").is_none() {
                    builder = builder.with_config(GoogleConfigKey::Client(TIMEOUT), REQUEST);
                }
                let builder = builder.with_bucket_name(bucket).with_retry(retry);
                builder.build().map(|store| Box::new(store) as _)
            }
            Service::Azure => {
                let mut builder = MicrosoftAzureBuilder::new();
                for (key, value) in settings::of_client("AZURE_") {
                    builder = builder.with_config(key, value);
                }
                if let Some(endpoint) = settings::value("IDENTITY_ENDPOINT") {
                    builder = builder.with_msi_endpoint(endpoint);
                }
                if env::var_os("AZURE_TIMEOUT").is_none() {
                    builder = builder.with_config(AzureConfigKey::Client(TIMEOUT), REQUEST);
                }
                if let Some(account) = &url.account {
                    builder = builder.with_account(account);
                }
                refuse_azure(&builder)?;
                let builder = builder.with_container_name(bucket).with_retry(retry);
                builder.build().map(|store| Box::new(store) as _)
            }
        };
        let hint = settings::missing_credentials(url.service);
        match built {
            Ok(objects) => Ok(Self { objects, hint }),
            Err(error) => Err(of_settings(url.service, (&error).into())),
        }
    }

    /// Lists one key that begins with `prefix`, which fails if the bucket or the credentials are wrong.
    pub async fn check(&self, prefix: Option<&str>) -> Result<(), UploadFailure> {
        let one = PaginatedListOptions {
            max_keys: Some(1),
            ..PaginatedListOptions::default()
        };
        let listed = self.objects.list_paginated(prefix, one);
        let listed = tokio::time::timeout(CHECK, listed).await;
        match listed {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(self.explained((&error).into())),
            Err(_) => Err(self.explained(UploadFailure {
                text: "no answer in time".to_owned(),
                kind: FailureKind::Passing,
            })),
        }
    }

    /// Adds that no credentials are set, if so.
    fn explained(&self, mut failure: UploadFailure) -> UploadFailure {
        if let Some(hint) = &self.hint {
            failure.text = format!("{}; {hint}", failure.text);
        }
        failure
    }

    /// Uploads the file at `path`, and calls `progressed` after each part.
    pub async fn upload(
        &self,
        key: &str,
        path: &Path,
        progressed: &dyn Fn(),
    ) -> Result<(), UploadError> {
        let uploaded = self.send(key, path, progressed).await;
        uploaded.map_err(|error| match error {
            UploadError::Service(failure) => UploadError::Service(self.explained(failure)),
            other => other,
        })
    }

    async fn send(&self, key: &str, path: &Path, progressed: &dyn Fn()) -> Result<(), UploadError> {
        let key = Key::parse(key)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        if bytes <= PART_BYTES {
            let whole = read(&mut file, bytes)?;
            self.objects
                .put_opts(&key, whole.into(), PutOptions::default())
                .await?;
            return Ok(());
        }
        if let Some(journal) = Journal::resume(path, bytes)? {
            match self.parts(&key, path, &mut file, journal, progressed).await {
                // The service has forgotten the upload: it begins anew.
                Err(UploadError::Service(failure)) if failure.kind != FailureKind::Passing => {}
                other => return other,
            }
        }
        let upload = Upload {
            id: self.objects.create_multipart(&key).await?,
            bytes,
            part_bytes: part_bytes(bytes),
        };
        let journal = Journal::create(path, upload);
        self.parts(&key, path, &mut file, journal, progressed).await
    }

    /// Uploads the parts that are missing, and completes the object.
    async fn parts(
        &self,
        key: &Key,
        path: &Path,
        file: &mut File,
        mut journal: Journal,
        progressed: &dyn Fn(),
    ) -> Result<(), UploadError> {
        let result = self.add_parts(key, file, &mut journal, progressed).await;
        let upload = &journal.upload.id;
        if result.is_err() && !journal.is_kept() {
            // No other run can continue it. A service that cannot be reached keeps its parts.
            let _ = self.objects.abort_multipart(key, upload).await;
        }
        result?;
        let parts = journal.parts.iter().cloned();
        let parts = parts.map(|content_id| PartId { content_id }).collect();
        let Err(error) = self.objects.complete_multipart(key, upload, parts).await else {
            return Ok(());
        };
        let mut failure = UploadFailure::from(&error);
        if matches!(error, StoreError::NotFound { .. }) {
            // It has just been there. Either the answer to an earlier request was lost, or the service has dropped it: the next
            // attempt begins anew.
            journal::remove(path);
            failure.kind = FailureKind::Passing;
        }
        Err(UploadError::Service(failure))
    }

    async fn add_parts(
        &self,
        key: &Key,
        file: &mut File,
        journal: &mut Journal,
        progressed: &dyn Fn(),
    ) -> Result<(), UploadError> {
        let Upload {
            id,
            bytes,
            part_bytes,
        } = journal.upload.clone();
        let done = part_bytes.saturating_mul(journal.parts.len() as u64);
        let mut at = done.min(bytes);
        while at < bytes {
            let length = part_bytes.min(bytes - at);
            file.seek(SeekFrom::Start(at))?;
            let part = read(file, length)?;
            let number = journal.parts.len();
            let part = self.objects.put_part(key, &id, number, part.into()).await?;
            journal.add(&part.content_id);
            progressed();
            at += length;
        }
        Ok(())
    }
}

/// A failure of the settings, with the variable of the credentials that are used.
fn of_settings(service: Service, mut failure: UploadFailure) -> UploadFailure {
    if failure.text == "no items found" {
        "the credentials have no private key in PEM".clone_into(&mut failure.text);
    }
    if let Some(name) = settings::credentials(service) {
        failure.text = format!("{} (check {name})", failure.text);
    }
    failure
}

/// Refuses settings without an account, and credentials that a program prints: the thread that uploads may not start one.
fn refuse_azure(builder: &MicrosoftAzureBuilder) -> Result<(), UploadFailure> {
    let value = |key| builder.get_config_value(&key);
    let is_cli = value(AzureConfigKey::CredentialType).is_some_and(|kind| kind == "azure_cli");
    let text = if value(AzureConfigKey::AccountName).is_none() && !is_on(AZURE_EMULATOR) {
        "the storage account is missing (set AZURE_STORAGE_ACCOUNT_NAME)"
    } else if is_cli || is_on("AZURE_USE_AZURE_CLI") {
        "credentials of the Azure CLI are not supported (use AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN)"
    } else {
        return Ok(());
    };
    Err(UploadFailure {
        text: text.to_owned(),
        kind: FailureKind::Lasting,
    })
}

fn part_bytes(bytes: u64) -> u64 {
    PART_BYTES.max(bytes.div_ceil(MOST_PARTS).next_multiple_of(1 << 20))
}

fn read(file: &mut File, bytes: u64) -> io::Result<Vec<u8>> {
    let mut part = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    file.take(bytes).read_to_end(&mut part)?;
    if part.len() as u64 == bytes {
        Ok(part)
    } else {
        let text = "the file became shorter while it was uploaded";
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_upload_has_too_many_parts() {
        for bytes in [PART_BYTES + 1, 100 << 20, 100 << 30, 5 << 40] {
            assert!(bytes.div_ceil(part_bytes(bytes)) <= MOST_PARTS, "{bytes}");
        }
        assert_eq!(part_bytes(100 << 20), PART_BYTES);
    }
}
