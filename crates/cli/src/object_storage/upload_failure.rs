//! Errors of object storage in a few words. What the service and the library say has URLs and signatures, which are not printed.

use std::error::Error;
use std::io;

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};
use rustls::{CertificateError, Error as TlsError};

use super::environment::printable;
use super::queue::{FailureKind, UploadFailure};
use crate::failure::innermost;

impl From<&StoreError> for UploadFailure {
    fn from(error: &StoreError) -> Self {
        let cause: &(dyn Error + 'static) = error;
        if let Some(json) = sources(cause).find_map(|one| one.downcast_ref::<serde_json::Error>()) {
            return of_json(json);
        }
        if let Some(refused) = sources(cause).find_map(certificate_error) {
            return of_certificate(refused);
        }
        if let Some(http) = sources(cause).find_map(|source| source.downcast_ref::<HttpError>()) {
            return of_http(http);
        }
        let text = error.to_string();
        let status = status(&text).or(match error {
            StoreError::NotFound { .. } => Some(404),
            StoreError::PermissionDenied { .. } => Some(403),
            StoreError::Unauthenticated { .. } => Some(401),
            _ => None,
        });
        match status {
            Some(status) => of_status(status, code(&text)),
            None => Self {
                text: printable(&innermost(cause)),
                kind: FailureKind::Lasting,
            },
        }
    }
}

/// Codes of S3 for an invalid or expired session token. Their status is 400 (Bad Request).
const TOKEN_CODES: [&str; 3] = ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"];

/// The local file could not be read.
impl From<&io::Error> for UploadFailure {
    fn from(error: &io::Error) -> Self {
        Self {
            text: printable(&innermost(error)),
            kind: FailureKind::OfFile,
        }
    }
}

/// An error and its sources.
fn sources<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Credentials could not be read. The error itself may repeat a part of them.
fn of_json(error: &serde_json::Error) -> UploadFailure {
    let (line, column) = (error.line(), error.column());
    UploadFailure {
        text: format!(
            "the credentials are not the JSON that was expected (line {line}, column {column})"
        ),
        kind: FailureKind::Lasting,
    }
}

/// The reason in an error of the connection, whose own `source` passes over the errors that it holds.
fn certificate_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e CertificateError> {
    let mut held = error;
    while let Some(error) = held
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        held = error;
    }
    match held.downcast_ref::<TlsError>()? {
        TlsError::InvalidCertificate(reason) => Some(reason),
        _ => None,
    }
}

/// The certificate of the service was refused.
fn of_certificate(reason: &CertificateError) -> UploadFailure {
    use CertificateError as Reason;
    let problem = match reason {
        Reason::UnknownIssuer => {
            "has an unknown issuer (SSL_CERT_FILE names the certificates of a private authority)"
        }
        Reason::Expired | Reason::ExpiredContext { .. } => "has expired (or the clock is wrong)",
        Reason::NotValidYet | Reason::NotValidYetContext { .. } => {
            "is not valid yet (or the clock is wrong)"
        }
        Reason::NotValidForName | Reason::NotValidForNameContext { .. } => {
            "is for another host (check the endpoint)"
        }
        Reason::Revoked => "is revoked",
        Reason::BadSignature => "has a wrong signature",
        _ => "is invalid",
    };
    UploadFailure {
        text: format!("the certificate of the service {problem}"),
        kind: FailureKind::Lasting,
    }
}

/// There was no answer.
fn of_http(error: &HttpError) -> UploadFailure {
    let text = innermost(error);
    let (text, kind) = if text.contains("URL scheme is not allowed") {
        let text = "the endpoint is not HTTPS (AWS_ALLOW_HTTP, GOOGLE_ALLOW_HTTP or AZURE_ALLOW_HTTP=true permits HTTP)";
        (text.to_owned(), FailureKind::Lasting)
    } else if error.kind() == HttpErrorKind::Timeout {
        ("no answer in time".to_owned(), FailureKind::Passing)
    } else {
        (text, FailureKind::Passing)
    };
    UploadFailure {
        text: printable(&text),
        kind,
    }
}

fn of_status(status: u16, code: Option<&str>) -> UploadFailure {
    let is_clock = code == Some("RequestTimeTooSkewed");
    let is_token = code.is_some_and(|code| TOKEN_CODES.contains(&code));
    let advice = match status {
        _ if is_clock => " (the clock of this host is wrong)",
        _ if is_token => " (check the session token: it may have expired)",
        401 | 403 => " (check the credentials and their permissions)",
        404 => " (does the bucket or container exist?)",
        301 | 307 | 400 => " (check the bucket or container, and the region)",
        _ => "",
    };
    let code = code.map_or(String::new(), |code| format!(" {code}"));
    UploadFailure {
        text: format!("the service answered {status}{code}{advice}"),
        kind: match status {
            // Every file would be refused.
            _ if is_clock || is_token => FailureKind::Lasting,
            500.. | 408 | 409 | 425 | 429 => FailureKind::Passing,
            // They concern the bucket, or whoever asks.
            301 | 307 | 401 | 404 => FailureKind::Lasting,
            // Permissions may differ between keys.
            _ => FailureKind::OfFile,
        },
    }
}

/// The status in the library's message: `Server returned non-2xx status code: 403 Forbidden: …`.
fn status(text: &str) -> Option<u16> {
    if text.contains("redirect without LOCATION") {
        return Some(301);
    }
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// The code in the service's answer, which is a word.
fn code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then_some(code)
}

#[cfg(test)]
mod tests {
    use object_store::gcp::GoogleCloudStorageBuilder;

    use super::*;

    fn generic(text: &str) -> UploadFailure {
        let error = StoreError::Generic {
            store: "S3",
            source: text.to_owned().into(),
        };
        UploadFailure::from(&error)
    }

    /// The first string of this key would be in the library's message.
    #[test]
    fn credentials_that_are_no_json_are_not_repeated() {
        let key = "\"wJalrXUtnFEMI\"";
        let builder = GoogleCloudStorageBuilder::new().with_service_account_key(key);
        let error = builder
            .with_bucket_name("logs")
            .build()
            .expect_err("no key");
        assert!(error.to_string().contains("wJalrXUtnFEMI"), "{error}");
        let failure = UploadFailure::from(&error);
        assert_eq!(
            failure.text,
            "the credentials are not the JSON that was expected (line 1, column 15)"
        );
    }

    /// The answers are those of Amazon S3, as object_store repeats them.
    #[test]
    fn only_status_and_code_of_an_answer_are_printed() {
        let denied = "Error performing PUT https://s3/b/k?X-Amz-Signature=0123 in 1ms - Server returned non-2xx status code: 403 Forbidden: <?xml version=\"1.0\"?>\n<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        let failure = generic(denied);
        assert_eq!(
            failure.text,
            "the service answered 403 SignatureDoesNotMatch (check the credentials and their permissions)"
        );
        assert_eq!(failure.kind, FailureKind::OfFile);
        let slow =
            generic("Server returned non-2xx status code: 503 Slow: <Code>Slow Down&</Code>");
        assert_eq!(slow.text, "the service answered 503");
        assert_eq!(slow.kind, FailureKind::Passing);
        assert_eq!(generic("Missing region").kind, FailureKind::Lasting);
        for (answer, advice) in [
            (
                "400 Bad Request: <Code>ExpiredToken</Code>",
                "the service answered 400 ExpiredToken (check the session token: it may have expired)",
            ),
            (
                "403 Forbidden: <Code>RequestTimeTooSkewed</Code>",
                "the service answered 403 RequestTimeTooSkewed (the clock of this host is wrong)",
            ),
        ] {
            let failure = generic(&format!("Server returned non-2xx status code: {answer}"));
            assert_eq!(failure.text, advice);
            assert_eq!(failure.kind, FailureKind::Lasting, "{answer}");
        }
        // Azure's answers begin with a mark of their encoding.
        let denied = generic(
            "Server returned non-2xx status code: 403 Forbidden: \u{feff}<?xml version=\"1.0\"?><Error><Code>AuthenticationFailed</Code><Message>of account logs</Message></Error>",
        );
        assert!(
            denied
                .text
                .starts_with("the service answered 403 AuthenticationFailed (")
        );
    }
}
