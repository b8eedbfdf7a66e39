//! Signs requests to Amazon Web Services with access keys (Signature Version 4), in a build with the feature `bedrock`.

use apprentice_protocol::{ModelError, ModelErrorKind};
use jiff::Timestamp;

use super::header::Header;
use super::secret::Secret;

/// Access keys of Amazon Web Services, which sign requests.
#[derive(Clone, Debug)]
pub struct AwsKeys {
    /// The id of the access key.
    pub access_key: String,
    /// The secret access key.
    pub secret_key: Secret,
    /// The token of a session, for keys that expire.
    pub session_token: Option<Secret>,
    /// The region that a signature is for.
    pub region: String,
}

/// Returns the headers that sign a POST of JSON, at this time. `url` and `body` are signed as they are sent.
#[cfg(feature = "bedrock")]
pub(super) fn sign(
    keys: &AwsKeys,
    url: &str,
    body: &[u8],
    now: Timestamp,
) -> Result<Vec<Header>, ModelError> {
    use aws_credential_types::Credentials;
    use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
    use aws_sigv4::sign::v4::SigningParams;

    let refused = |error: &dyn std::fmt::Display| {
        let message = format!("the request could not be signed: {error}");
        ModelError::never(ModelErrorKind::Request, message)
    };
    let token = keys.session_token.as_ref().map(|token| token.reveal().to_owned());
    let (access, secret) = (keys.access_key.as_str(), keys.secret_key.reveal());
    let identity = Credentials::new(access, secret, token, None, "settings").into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(&keys.region)
        .name("bedrock")
        .time(std::time::SystemTime::from(now))
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| refused(&error))?
        .into();
    let headers = [("content-type", "application/json")].into_iter();
    let request = SignableRequest::new("POST", url, headers, SignableBody::Bytes(body));
    let signed = sign(request.map_err(|error| refused(&error))?, &params).map_err(|error| refused(&error))?;
    let (instructions, _) = signed.into_parts();
    instructions
        .headers()
        .map(|(name, value)| {
            let known = ["authorization", "x-amz-date", "x-amz-security-token"];
            let name = known.into_iter().find(|known| *known == name);
            Ok((name.ok_or_else(|| refused(&"an unknown header"))?, value.to_owned()))
        })
        .collect()
}

/// Returns an error: this build cannot sign.
#[cfg(not(feature = "bedrock"))]
pub(super) fn sign(_: &AwsKeys, _: &str, _: &[u8], _: Timestamp) -> Result<Vec<Header>, ModelError> {
    let message = "this build cannot sign requests: it lacks the feature `bedrock`";
    Err(ModelError::never(ModelErrorKind::Request, message))
}

#[cfg(all(test, feature = "bedrock"))]
mod tests {
    use super::sign;
    use crate::http::{AwsKeys, Secret};

    /// The signatures are those of botocore 1.43 for the same requests at the same time.
    #[test]
    fn requests_are_signed_as_amazons_own_client_signs_them() {
        let keys = |session_token| AwsKeys {
            access_key: "AKIDEXAMPLE".into(),
            secret_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token,
            region: "us-east-1".into(),
        };
        let now = "2026-11-23T07:00:00Z".parse().expect("a time");
        let arn = "arn:aws:bedrock:us-east-1:1:inference-profile%2Fus.anthropic.claude";
        for (model, token, signature) in [
            (
                "anthropic.claude-sonnet-5-5-v1:0",
                None,
                "9649fe11969771b01e9c9591c74c21aefbef740b26225b248030fe46855486dc",
            ),
            (
                arn,
                Some(Secret::new("session")),
                "9a4c3d35e434a0317a21f2300c46d20ff61b52dce9cc83bc007aea6d4a726262",
            ),
        ] {
            let url = format!("https://bedrock-runtime.us-east-1.amazonaws.com/model/{model}/invoke");
            let headers = sign(&keys(token.clone()), &url, b"{\"max_tokens\":9}", now).expect("signs");
            let find =
                |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
            assert_eq!(find("x-amz-date"), Some("20261123T070000Z"));
            assert_eq!(find("x-amz-security-token"), token.as_ref().map(Secret::reveal));
            let told = find("authorization").expect("a signature");
            assert!(told.ends_with(&format!("Signature={signature}")), "{model}: {told}");
            assert!(!told.contains("wJalr"), "{told}");
        }
    }
}
