//! Gives a browser the state that Playwright saved of another one: its cookies, and what sites stored in it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::browser::Port;
use super::context::SetupContext;
use super::error::StepError;

/// A file that `BrowserContext.storage_state` of Playwright wrote.
#[derive(Deserialize)]
struct SavedState {
    #[serde(default)]
    cookies: Vec<Value>,
    #[serde(default)]
    origins: Vec<Origin>,
}

#[derive(Deserialize)]
struct Origin {
    origin: String,
    #[serde(default, rename = "localStorage")]
    stored: Vec<Stored>,
}

#[derive(Deserialize)]
struct Stored {
    name: String,
    value: String,
}

/// Restores the state in the running browser.
pub(super) async fn restore(context: &SetupContext<'_>, bytes: &[u8]) -> Result<(), StepError> {
    let state: SavedState =
        serde_json::from_slice(bytes).map_err(|error| StepError::BrowserState(error.to_string()))?;
    let port = Port::open(context).await?;
    let pages = port.pages().await?;
    let page = pages.first().ok_or_else(|| StepError::NoBrowser("it has no page".into()))?;
    let cookies: Vec<Value> = state.cookies.iter().map(cookie).collect();
    port.call(page, "Network.setCookies", &json!({"cookies": cookies})).await?;
    for origin in &state.origins {
        let opened = port.visit(context, &origin.origin).await?;
        for stored in &origin.stored {
            let (name, value) = (json!(stored.name), json!(stored.value));
            let expression = format!("localStorage.setItem({name}, {value})");
            let kept = port.call(&opened, "Runtime.evaluate", &json!({"expression": expression})).await?;
            if kept.get("exceptionDetails").is_some() {
                let what = format!("{} does not keep {:?}", origin.origin, stored.name);
                return Err(StepError::BrowserState(what));
            }
        }
        port.close(context, &opened).await?;
    }
    Ok(())
}

/// Returns a cookie as the debugging protocol takes it: without an end for the browser's own session.
fn cookie(saved: &Value) -> Value {
    let mut cookie = saved.clone();
    if let Some(fields) = cookie.as_object_mut() {
        let known =
            ["name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "expires", "partitionKey"];
        fields.retain(|name, value| known.contains(&name.as_str()) && !value.is_null());
        if fields.get("expires").and_then(Value::as_f64).is_some_and(|end| end < 0.0) {
            fields.remove("expires");
        }
    }
    cookie
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::cookie;

    #[test]
    fn a_cookie_of_a_session_has_no_end() {
        let saved = json!({"name": "a", "value": "b", "domain": "h", "path": "/", "expires": -1, "httpOnly": true, "x": 1});
        assert_eq!(
            cookie(&saved),
            json!({"name": "a", "value": "b", "domain": "h", "path": "/", "httpOnly": true})
        );
        assert_eq!(cookie(&json!({"expires": 9.5})), json!({"expires": 9.5}));
    }
}
