//! Uploads to test servers for Google Cloud Storage and Azure Blob Storage, written from the services' documentation.
//! The bucket of one and the container of the other behave alike.

use std::fs;
use std::path::Path;

use lab::wait;
use serde_json::{Value, json};

use crate::support::files::capture;
use crate::support::frames::udp;
use crate::support::objects::{KEY_ID, PORT, Server, spooled_in};
use crate::support::run::{Ended, spawn};
use crate::support::services::{AZURE_KEY, AZURE_SAS, CLOUDS, Cloud, SECRETS, Service, command};
use crate::support::{Scene, engines, number};

/// Runs `read` of a small capture to `place`, without patience. Returns what it says, which has no credentials.
#[track_caller]
fn read_to(service: &Service<'_>, place: &str, variables: &[(&str, &str)]) -> Ended {
    let mut command = service.command(&line(place));
    command.envs(variables.iter().copied());
    run(command)
}

fn line(place: &str) -> String {
    let file = capture("icmpv6.pcap");
    format!("read {file} --json -w {place} --spool-wait 0s")
}

#[track_caller]
fn run(command: std::process::Command) -> Ended {
    let ended = spawn(command).finish();
    let said = format!("{ended:?}");
    for secret in SECRETS {
        assert!(!said.contains(secret), "{said}");
    }
    ended
}

#[test]
fn tables_and_files_become_objects_of_each_service() {
    let scene = Scene::new();
    let file = capture("icmpv6.pcap");
    let local = scene.file("a.parquet");
    scene.run(&format!("read {file} -w {local}")).exit(0);
    let expected = fs::read(&local).expect("the file");
    for cloud in CLOUDS {
        let service = Service::start(&scene, cloud);
        let scheme = cloud.scheme();
        let place = format!("{scheme}://logs/net/a file.parquet");
        let line = format!("read {file} --json -w '{place}'");
        let ended = run(service.command(&line));
        ended.exit(0);
        let columns = &ended.events().pop().expect("a summary")["columns"];
        assert_eq!(columns["path"], place);
        let uploads = &columns["uploads"];
        assert_eq!(number(uploads, "uploaded_bytes"), expected.len() as u64);
        assert_eq!(number(uploads, "failures"), 0);
        assert!(service.get("net/a file.parquet") == expected, "{cloud:?}");
        for host in ["one", "two"] {
            let line = format!("read {file} -w {scheme}://logs/table --partition={host}");
            run(service.command(&line)).exit(0);
        }
        let table = service.folder().join("logs/table/**/*.parquet");
        let rows = engines::duckdb(&format!(
            "select host, count(*) from read_parquet('{}', hive_partitioning = true) group by host order by host",
            table.display()
        ));
        let packets = crate::support::files::count(&file);
        assert_eq!(
            Value::from(rows),
            json!([["one", packets], ["two", packets]]),
            "{cloud:?}"
        );
        service.server.stop().exit(0);
    }
}

/// moto knows the requests of Google Cloud Storage, as far as they are those of S3. It looks for an area in the credentials.
#[test]
fn a_server_of_s3_takes_googles_requests() {
    let scene = Scene::new();
    let server = Server::start(&scene.right, scene.folder.path());
    let root = scene.file("spool/gs/logs");
    fs::create_dir_all(&root).expect("a folder");
    let large: Vec<u8> = (0..10_u32 << 20).map(|n| (n >> 8) as u8).collect();
    fs::write(format!("{root}/large.parquet"), &large).expect("a file");
    let mut command = command(
        &scene,
        Cloud::Google,
        PORT.into(),
        &line("gs://logs/net/a.parquet"),
    );
    let token = format!("Credential={KEY_ID}/20261128/us-east-1/s3/aws4_request");
    command.env("GOOGLE_BEARER_TOKEN", token);
    run(command).exit(0);
    assert_eq!(server.keys(), ["large.parquet", "net/a.parquet"]);
    assert!(server.get("large.parquet") == large);
    assert_eq!(server.requests("partNumber="), 2);
    let local = scene.file("a.parquet");
    let file = capture("icmpv6.pcap");
    scene.run(&format!("read {file} -w {local}")).exit(0);
    assert!(server.get("net/a.parquet") == fs::read(local).expect("the file"));
}

#[test]
fn hadoops_urls_name_containers_of_azure() {
    let scene = Scene::new();
    let service = Service::start(&scene, Cloud::Azure);
    read_to(&service, "abfs://logs/a.parquet", &[]).exit(0);
    // Also a shared access signature instead of the key.
    let signature = [
        ("AZURE_STORAGE_ACCOUNT_KEY", ""),
        ("AZURE_STORAGE_SAS_TOKEN", AZURE_SAS),
        ("AZURE_CREDENTIAL_TYPE", "sas_token"),
    ];
    let place = "abfss://logs@store1.dfs.core.windows.net/b.parquet";
    let ended = read_to(&service, place, &signature);
    ended.exit(0);
    let path = &ended.events().pop().expect("a summary")["columns"]["path"];
    assert_eq!(path, place);
    assert_eq!(service.keys(), ["a.parquet", "b.parquet"]);
    // The signature of the key is that of the URL's account.
    let other = "abfss://logs@other.dfs.core.windows.net/c.parquet";
    let refused = read_to(&service, other, &[]);
    let line = refused.exit(1);
    assert!(line.contains("403 AuthenticationFailed"), "{line}");
}

#[test]
fn an_upload_in_parts_goes_on_where_another_run_was() {
    let scene = Scene::new();
    // A file that an earlier run left: three parts.
    let large: Vec<u8> = (0..5 << 20)
        .flat_map(|n: u32| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    for cloud in CLOUDS {
        let service = Service::start(&scene, cloud);
        let root = format!("{}/{}/logs", scene.file("spool"), cloud.scheme());
        let left = Path::new(&root).join("large.parquet");
        fs::create_dir_all(&root).expect("a folder");
        fs::write(&left, &large).expect("a file");
        let busy = service.folder().join("busy");
        fs::write(&busy, "").expect("a file");
        let place = format!("{}://logs/small.parquet", cloud.scheme());
        let ended = read_to(&service, &place, &[]);
        let line = ended.exit(1);
        assert!(
            line.contains("the service answered 503 ServerBusy"),
            "{line}"
        );
        assert!(service.keys().is_empty(), "{:?}", service.keys());
        fs::remove_file(&busy).expect("removed");
        read_to(&service, &place, &[]).exit(0);
        assert!(service.get("large.parquet") == large, "{cloud:?}");
        assert_eq!(service.keys(), ["large.parquet", "small.parquet"]);
        assert!(spooled_in(Path::new(&root), true).is_empty());
        // The server may take the second part also from the run that has ended.
        let parts = service.server.stop().events_of("part");
        let is_first = |part: &&Value| part["md5"] == parts[0]["md5"];
        assert_eq!(parts.iter().filter(is_first).count(), 1, "{parts:?}");
    }
}

#[test]
fn wrong_credentials_and_missing_buckets_are_named_and_not_printed() {
    let scene = Scene::new();
    let google = Service::that_denies(&scene);
    let azure = Service::start(&scene, Cloud::Azure);
    let other_key = "b3RoZXIga2V5IG9mIDMyIGJ5dGVzIGluIGJhc2U2NCwgMTIzNA==";
    let wrong_key = [("AZURE_STORAGE_ACCOUNT_KEY", other_key)];
    let wrong_signature = [
        ("AZURE_CREDENTIAL_TYPE", "sas_token"),
        (
            "AZURE_STORAGE_SAS_TOKEN",
            "sv=2024-11-04&sig=c2lnbmF0dXJlLW9mLWEtc2hhcmVkLXdyb25n",
        ),
    ];
    for (service, place, variables, why) in [
        (
            &google,
            "gs://logs/a.parquet",
            &[][..],
            "401 AuthenticationRequired (check the credentials",
        ),
        (
            &azure,
            "az://logs/a.parquet",
            &wrong_key[..],
            "403 AuthenticationFailed (check the credentials",
        ),
        (
            &azure,
            "az://logs/a.parquet",
            &wrong_signature[..],
            "403 AuthenticationFailed (check the credentials",
        ),
        (
            &azure,
            "az://nobodys/a.parquet",
            &[][..],
            "404 ContainerNotFound (does the bucket or container exist?)",
        ),
    ] {
        let ended = read_to(service, place, variables);
        let line = ended.exit(1);
        assert!(
            line.contains(&format!("the service answered {why}")),
            "{line}"
        );
        assert!(!line.contains(other_key), "{line}");
    }
    let google = Service::start(&scene, Cloud::Google);
    let ended = read_to(&google, "gs://nobodys/a.parquet", &[]);
    assert!(
        ended.exit(1).contains("404 NoSuchBucket (does"),
        "{ended:?}"
    );
}

#[test]
fn services_that_cannot_be_reached_leave_the_files_in_the_spool() {
    let scene = Scene::new();
    for cloud in CLOUDS {
        let scheme = cloud.scheme();
        let place = format!("{scheme}://logs/a.parquet");
        let ended = run(command(&scene, cloud, 9, &line(&place)));
        let root = format!("{}/{scheme}/logs", scene.file("spool"));
        let hint = match cloud {
            Cloud::Google => {
                "; no credentials are set (GOOGLE_APPLICATION_CREDENTIALS), only those of this machine are used"
            }
            Cloud::Azure => "",
        };
        assert_eq!(
            ended.exit(1),
            format!(
                "cannot upload all files to {place}: Connection refused{hint} (1 file waits in {root}, and the next run uploads it)"
            )
        );
        assert_eq!(spooled_in(Path::new(&root), false), ["a.parquet"]);
    }
}

/// The permissions of the shared access signature are to create and to write.
#[test]
fn credentials_that_may_only_write_are_enough() {
    let scene = Scene::new();
    let service = Service::start(&scene, Cloud::Azure);
    let mut command = service.command(
        "flows -i right0 --json --direction in --idle 10ms -w az://logs/table --partition=one --rotate-interval 20ms udp",
    );
    command.env("AZURE_STORAGE_ACCOUNT_KEY", "");
    command.env("AZURE_CREDENTIAL_TYPE", "sas_token");
    command.env("AZURE_STORAGE_SAS_TOKEN", AZURE_SAS);
    let mut running = spawn(command);
    running.ready();
    let warning = running.error_line();
    assert_eq!(
        warning,
        "warning: cannot list az://logs/table: the service answered 403 AuthorizationPermissionMismatch (check the credentials and their permissions); uploads may fail, too"
    );
    scene.send(&[udp(b"hello")]);
    wait::until("a file is an object", || !service.keys().is_empty());
    let ended = running.stop();
    ended.exit(0);
    assert!(!format!("{ended:?}").contains("c2lnbmF0dXJlLW9mLWEtc2hhcmVk"));
}

#[test]
fn settings_of_services_that_cannot_be_used_are_refused_and_not_printed() {
    let scene = Scene::new();
    let services = CLOUDS.map(|cloud| Service::start(&scene, cloud));
    let account = "the storage account is missing (set AZURE_STORAGE_ACCOUNT_NAME)";
    let cli = "credentials of the Azure CLI are not supported";
    let json = "the credentials are not the JSON that was expected (line 1, column 30)";
    let key = format!("\"{}\"", SECRETS[3]);
    let no_pem = r#"{"private_key": "none", "private_key_id": "1", "client_email": "a@b"}"#;
    for (cloud, name, value, why) in [
        (Cloud::Azure, "AZURE_STORAGE_ACCOUNT_NAME", "", account),
        (Cloud::Azure, "AZURE_USE_AZURE_CLI", "TRUE", cli),
        (Cloud::Azure, "AZURE_CREDENTIAL_TYPE", "azure_cli", cli),
        (
            Cloud::Azure,
            "AZURE_STORAGE_ACCOUNT_KEY",
            "no base64!",
            "Invalid",
        ),
        (
            Cloud::Azure,
            "AZURE_ALLOW_HTTP",
            "false",
            "the endpoint is not HTTPS",
        ),
        (
            Cloud::Google,
            "GOOGLE_ALLOW_HTTP",
            "false",
            "the endpoint is not HTTPS",
        ),
        (Cloud::Google, "GOOGLE_SERVICE_ACCOUNT_KEY", &key, json),
        (
            Cloud::Google,
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            no_pem,
            "the credentials have no private key in PEM (check GOOGLE_SERVICE_ACCOUNT_KEY)",
        ),
        (
            Cloud::Google,
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "{}",
            "the credentials are not the JSON",
        ),
        (
            Cloud::Google,
            "GOOGLE_SERVICE_ACCOUNT",
            "/nonexistent/key.json",
            "No such file",
        ),
    ] {
        let service = services.iter().find(|service| service.cloud == cloud);
        let place = format!("{}://logs/a.parquet", cloud.scheme());
        let mut command = service.expect("both").command(&line(&place));
        if value.is_empty() {
            command.env_remove(name);
        } else {
            command.env(name, value);
        }
        let ended = run(command);
        let line = ended.exit(1);
        assert!(line.contains(why), "{name}={value}: {line}");
        assert!(!line.contains(AZURE_KEY), "{line}");
    }
    // What no request can carry.
    for (cloud, name, value) in [
        (Cloud::Azure, "AZURE_STORAGE_ENDPOINT", "127.0.0.1:10000"),
        (Cloud::Azure, "AZURE_STORAGE_ACCOUNT_NAME", "my logs"),
        (Cloud::Azure, "AZURE_STORAGE_ACCOUNT_KEY", "YSBrZXk=\n"),
        (Cloud::Google, "GOOGLE_BASE_URL", "127.0.0.1:4443"),
        (Cloud::Google, "GOOGLE_BEARER_TOKEN", "ya29.other\n"),
    ] {
        let service = services.iter().find(|service| service.cloud == cloud);
        let place = format!("{}://logs/a.parquet", cloud.scheme());
        let mut command = service.expect("both").command(&line(&place));
        command.env(name, value);
        let ended = run(command);
        let line = ended.refusal(2);
        let start = format!("cannot use {place}: {name} ");
        assert!(line.starts_with(&start), "{line}");
    }
}
