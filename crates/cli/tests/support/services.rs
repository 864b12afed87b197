//! Google Cloud Storage and Azure Blob Storage: the servers of `object_storage/services.py`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::Scene;
use super::objects::spooled_in;
use super::run::{Running, spawn};

/// The server.
const SERVICES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/object_storage/services.py"
);

/// The bucket or container.
const BUCKET: &str = "logs";

/// What may not be printed: a token of Google's metadata server, a key and a shared access signature of Azure, and a part of a
/// service account's key.
pub const SECRETS: [&str; 4] = [
    "ya29.c0AbMnG7XzExampleToken",
    AZURE_KEY,
    "c2lnbmF0dXJlLW9mLWEtc2hhcmVk",
    "MIIEvQIBADANBgkqhkiG9w0BAQEF",
];

/// The key of the account `store1`.
pub const AZURE_KEY: &str = "YSBrZXkgb2YgMzIgYnl0ZXMgaW4gYmFzZTY0LCAxMjM0";

/// A shared access signature of the container.
pub const AZURE_SAS: &str = "sv=2024-11-04&sr=c&sp=cw&sig=c2lnbmF0dXJlLW9mLWEtc2hhcmVk";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    Google,
    Azure,
}

/// Both.
pub const CLOUDS: [Cloud; 2] = [Cloud::Google, Cloud::Azure];

impl Cloud {
    fn kind(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Azure => "azure",
        }
    }

    pub fn scheme(self) -> &'static str {
        match self {
            Self::Google => "gs",
            Self::Azure => "az",
        }
    }
}

/// A server at the right host of a scene.
pub struct Service<'s> {
    scene: &'s Scene,
    pub cloud: Cloud,
    pub server: Running,
    port: u64,
}

impl<'s> Service<'s> {
    #[track_caller]
    pub fn start(scene: &'s Scene, cloud: Cloud) -> Self {
        Self::start_with(scene, cloud, &[])
    }

    /// One that does not accept the token of the metadata server.
    #[track_caller]
    pub fn that_denies(scene: &'s Scene) -> Self {
        Self::start_with(scene, Cloud::Google, &["deny"])
    }

    #[track_caller]
    fn start_with(scene: &'s Scene, cloud: Cloud, more: &[&str]) -> Self {
        let kind = cloud.kind();
        let folder = scene.file(kind);
        fs::create_dir_all(&folder).expect("a folder");
        let mut command = scene.right.command("python3");
        command.args([SERVICES, kind, &folder]).args(more);
        let mut server = spawn(command);
        let port = server.ready()["port"].as_u64().expect("a port");
        Self {
            scene,
            cloud,
            server,
            port,
        }
    }

    /// `tapline LINE` at the same host, with the credentials of the service and a spool in the folder of the scene.
    pub fn command(&self, line: &str) -> Command {
        command(self.scene, self.cloud, self.port, line)
    }

    /// The folder of the server.
    pub fn folder(&self) -> PathBuf {
        self.scene.file(self.cloud.kind()).into()
    }

    /// The keys of all objects.
    pub fn keys(&self) -> Vec<String> {
        spooled_in(&self.folder().join(BUCKET), false)
    }

    #[track_caller]
    pub fn get(&self, key: &str) -> Vec<u8> {
        fs::read(self.folder().join(BUCKET).join(key)).expect("an object")
    }
}

/// The same with any port.
pub fn command(scene: &Scene, cloud: Cloud, port: u64, line: &str) -> Command {
    let mut command = scene.command(&format!("{line} --spool {}", scene.file("spool")));
    let place = format!("127.0.0.1:{port}");
    match cloud {
        Cloud::Google => command
            .env("GCE_METADATA_HOST", &place)
            .env("GCE_METADATA_IP", &place)
            .env("GOOGLE_BASE_URL", format!("http://{place}"))
            .env("GOOGLE_ALLOW_HTTP", "true"),
        Cloud::Azure => command
            .env("AZURE_STORAGE_ACCOUNT_NAME", "store1")
            .env("AZURE_STORAGE_ACCOUNT_KEY", AZURE_KEY)
            .env("AZURE_STORAGE_ENDPOINT", format!("http://{place}"))
            .env("AZURE_ALLOW_HTTP", "true"),
    };
    command
}
