//! The certificates by which a database of another machine is known.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// The certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificatesError {
    /// Those of a file.
    #[error("{} cannot be used as the certificates by which the database is known: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Those of the system.
    #[error("the certificates of the system, by which the database is known, cannot be used: {0}")]
    System(String),
}

/// Makes the client's side of encrypted connections. It takes a server whose certificate names its host and leads to a
/// certificate of the file, or of the system without a file.
pub(crate) fn client(roots: Option<&Path>) -> Result<ClientConfig, CertificatesError> {
    let failed = |why: String| match roots {
        Some(path) => CertificatesError::File { path: path.to_owned(), why },
        None => CertificatesError::System(why),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?;
    let Some(file) = roots else {
        let verified = builder.with_platform_verifier().map_err(|error| failed(error.to_string()))?;
        return Ok(verified.with_no_client_auth());
    };
    let mut known = RootCertStore::empty();
    let read = CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?;
    for certificate in read {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        known.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    if known.is_empty() {
        Err(failed("it holds no certificate".to_owned()))
    } else {
        Ok(builder.with_root_certificates(known).with_no_client_auth())
    }
}
