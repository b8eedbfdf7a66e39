//! Answers over HTTP, with the headers that every answer has.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{Response, StatusCode};

use crate::page;

pub(crate) fn plain(status: StatusCode, why: &str) -> Response<Body> {
    response(status, "text/plain; charset=utf-8", Body::from(why.to_owned()))
}

pub(crate) fn response(status: StatusCode, media: &'static str, body: Body) -> Response<Body> {
    let mut made = Response::new(body);
    *made.status_mut() = status;
    let policy = page::policy();
    let headers: [(HeaderName, &str); 6] = [
        (CONTENT_TYPE, media),
        (CONTENT_SECURITY_POLICY, &policy),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in headers {
        if let Ok(value) = axum::http::HeaderValue::from_str(value) {
            made.headers_mut().insert(name, value);
        }
    }
    made
}
