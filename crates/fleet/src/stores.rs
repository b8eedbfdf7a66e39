//! Object stores by their address: a folder that all machines share, Amazon S3 and what speaks its protocol, Google Cloud
//! Storage, and Azure Blob Storage.

use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::prefix::PrefixStore;
use object_store::{ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::error_chain::error_chain;

/// The forms of an address.
pub(crate) const FORMS: &str = "give s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or file:///FOLDER, a folder that all workers share";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A request that is not answered until then is given up, and repeated; so is an answer of which nothing more comes for as long.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes per second that a connection is expected to send at least.
const SLOWEST: u64 = 1 << 20;

/// Keys and addresses of object stores, by the names that their own programs use: `AWS_ACCESS_KEY_ID`. They stay on the
/// machine: neither the queue nor a run holds them.
#[derive(Clone, Default)]
pub struct StoreSettings {
    /// Name and value.
    pub values: Vec<(String, String)>,
    /// How long a request is repeated while the store fails or does not answer.
    pub patience: Option<Duration>,
}

/// Names that settings of object stores begin with.
pub const STORE_SETTINGS: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

impl std::fmt::Debug for StoreSettings {
    /// Only the names, as values may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(name, _)| name)).finish()
    }
}

/// The store at an address cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("artifacts cannot be kept at {address:?}: {why}")]
pub struct StoreAddressError {
    /// The address.
    address: String,
    /// The reason and the remedy.
    why: String,
}

/// Opens the store at an address.
pub(crate) fn open(
    address: &str,
    settings: &StoreSettings,
) -> Result<Arc<dyn ObjectStore>, StoreAddressError> {
    let wrong = |why: String| StoreAddressError { address: without_keys(address), why };
    let failed = |error: object_store::Error| wrong(error_chain(&error));
    let Some((kind, rest)) = address.split_once("://") else { return Err(wrong(FORMS.to_owned())) };
    if kind == "file" {
        return folder(address, Path::new(rest));
    }
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    // Keys may hold slashes, names of buckets no colon.
    if bucket.contains(['@', ':']) {
        return Err(wrong(format!("an address holds no keys, which come from the environment; {FORMS}")));
    }
    if bucket.is_empty() {
        return Err(wrong(format!("it names no bucket; {FORMS}")));
    }
    let retry = RetryConfig {
        retry_timeout: settings.patience.unwrap_or(Duration::from_secs(120)),
        // The time alone decides.
        max_retries: usize::MAX,
        ..RetryConfig::default()
    };
    let store: Box<dyn ObjectStore> =
        match kind {
            "s3" => {
                let of = |(name, value): &(String, String)| {
                    Some((AmazonS3ConfigKey::from_str(&name.to_ascii_lowercase()).ok()?, value.clone()))
                };
                let builder = settings
                    .values
                    .iter()
                    .filter_map(of)
                    .fold(AmazonS3Builder::new().with_bucket_name(bucket), |builder, (key, value)| {
                        builder.with_config(key, value)
                    });
                // The server compares what arrives with the digest that was sent.
                let builder = builder.with_checksum_algorithm(Checksum::SHA256);
                Box::new(builder.with_http_connector(Transport).with_retry(retry).build().map_err(failed)?)
            }
            "gs" => {
                let of = |(name, value): &(String, String)| {
                    Some((GoogleConfigKey::from_str(&name.to_ascii_lowercase()).ok()?, value.clone()))
                };
                let builder = settings.values.iter().filter_map(of).fold(
                    GoogleCloudStorageBuilder::new().with_bucket_name(bucket),
                    |builder, (key, value)| builder.with_config(key, value),
                );
                Box::new(builder.with_http_connector(Transport).with_retry(retry).build().map_err(failed)?)
            }
            "az" => {
                let of = |(name, value): &(String, String)| {
                    Some((AzureConfigKey::from_str(&name.to_ascii_lowercase()).ok()?, value.clone()))
                };
                let builder = settings.values.iter().filter_map(of).fold(
                    MicrosoftAzureBuilder::new().with_container_name(bucket),
                    |builder, (key, value)| builder.with_config(key, value),
                );
                Box::new(builder.with_http_connector(Transport).with_retry(retry).build().map_err(failed)?)
            }
            _ => return Err(wrong(FORMS.to_owned())),
        };
    Ok(Arc::new(PrefixStore::new(store, prefix.trim_matches('/'))))
}

/// An address as it may be shown: without what may be keys.
fn without_keys(address: &str) -> String {
    let (kind, rest) = address.split_once("://").unwrap_or(("", address));
    let host = rest.split('/').next().unwrap_or_default();
    if kind == "file" || !host.contains(['@', ':']) {
        return address.to_owned();
    }
    let place = rest.rsplit_once('@').map_or("", |(_, place)| place);
    format!("{kind}://…@{place}")
}

fn folder(address: &str, folder: &Path) -> Result<Arc<dyn ObjectStore>, StoreAddressError> {
    let wrong = |why: String| StoreAddressError { address: address.to_owned(), why };
    if !folder.is_absolute() {
        return Err(wrong("the folder is not absolute: write file:///FOLDER".to_owned()));
    }
    std::fs::create_dir_all(folder).map_err(|error| wrong(error.to_string()))?;
    let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| wrong(error_chain(&error)))?;
    Ok(Arc::new(store.with_fsync(true)))
}

/// The HTTP client of the program, with deadlines.
#[derive(Debug)]
struct Transport;

#[derive(Debug)]
struct Client(reqwest::Client);

impl HttpConnector for Transport {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plain =
            options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|allowed| allowed == "true");
        let client =
            reqwest::Client::builder()
                .connect_timeout(CONNECT_TIMEOUT)
                .https_only(!plain)
                .build()
                .map_err(|source| object_store::Error::Generic { store: "HTTP", source: Box::new(source) })?;
        Ok(HttpClient::new(Client(client)))
    }
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let url = reqwest::Url::parse(&parts.uri.to_string())
            .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let mut sent = reqwest::Request::new(parts.method, url);
        *sent.headers_mut() = parts.headers;
        let body = body.collect().await?.to_bytes();
        let deadline = time_to_answer(body.len() as u64);
        *sent.body_mut() = (!body.is_empty()).then(|| body.into());
        let late = |late| HttpError::new(HttpErrorKind::Timeout, late);
        let sending = tokio::time::timeout(deadline, self.0.execute(sent));
        let mut answer = sending.await.map_err(late)?.map_err(failure)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut content = Vec::new();
        while let Some(part) =
            tokio::time::timeout(REQUEST_TIMEOUT, answer.chunk()).await.map_err(late)?.map_err(failure)?
        {
            content.extend_from_slice(&part);
        }
        let mut response = HttpResponse::new(HttpResponseBody::from(content));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// How long a request with a body of this size may take to be sent and answered.
fn time_to_answer(bytes: u64) -> Duration {
    REQUEST_TIMEOUT + Duration::from_secs(bytes / SLOWEST)
}

fn failure(error: reqwest::Error) -> HttpError {
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_request() {
        HttpErrorKind::Request
    } else if error.is_body() || error.is_decode() {
        HttpErrorKind::Interrupted
    } else {
        HttpErrorKind::Unknown
    };
    // The address may hold a signature.
    HttpError::new(kind, error.without_url())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::time_to_answer;

    #[test]
    fn a_large_file_has_the_time_that_it_takes_to_send_it() {
        assert_eq!(time_to_answer(1000), Duration::from_secs(60));
        assert!(time_to_answer(1_000_000_000) > Duration::from_secs(80), "1 GB over 100 Mbit/s");
    }
}
