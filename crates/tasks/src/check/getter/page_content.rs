//! Getters of WebArena's checks: the address of the active page, and what JavaScript finds in pages.

use apprentice_metrics::Url;
use serde_json::{Value, json};

use super::devtools_page::{Browser, CONTENT};
use super::output::GetterOutput;
use crate::check::collect_context::{CollectContext, CollectError};

const GETTER: &str = "page_contents";
/// Evaluates JavaScript of a check in a page; `FOUND` marks where it goes, as a string.
const EVALUATE: &str = include_str!("page_content.js");
/// Functions of the check that ask a site's own interface; `BASE` marks the site's address, `PART` an argument.
const SHOP: &str = include_str!("shop.js");
/// Finds the role of an account in the open list of members; `NAME` marks the account.
const MEMBER_ROLE: &str = include_str!("member_role.js");

/// Returns the address of the page that is shown.
pub(super) async fn active_url(context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let Some(browser) = Browser::connect("active_page_url", context).await? else {
        return Ok(GetterOutput::absent("no browser responds on its debugging port"));
    };
    Ok(match active(&browser).await {
        Some(page) => GetterOutput::value(page["url"].clone()),
        None => GetterOutput::absent("the browser shows no page"),
    })
}

/// Returns the page that is shown; of several windows that of the window used last.
async fn active(browser: &Browser) -> Option<Value> {
    for page in &browser.pages {
        if browser.value(page, "document.visibilityState").await.is_ok_and(|state| state == "visible") {
            return Some(page.clone());
        }
    }
    browser.pages.first().cloned()
}

/// Returns what each target of a check finds: the value of its JavaScript, or the whole page.
pub(super) async fn contents(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let Some(browser) = Browser::connect(GETTER, context).await? else {
        return Ok(GetterOutput::absent("no browser responds on its debugging port"));
    };
    let Some(active) = active(&browser).await else {
        return Ok(GetterOutput::absent("the browser shows no page"));
    };
    let reader = Reader { browser, active, shop: spec["shop"].as_str().map(str::to_owned), context };
    let mut found = Vec::new();
    let targets = spec["program_html"].as_array().ok_or_else(|| invalid("`program_html` is no list"))?;
    for target in targets {
        found.push(reader.content(target).await?);
    }
    Ok(GetterOutput::value(found))
}

/// Reads pages for the targets of one check.
struct Reader<'a> {
    browser: Browser,
    active: Value,
    shop: Option<String>,
    context: &'a CollectContext<'a>,
}

fn missing(what: impl Into<String>) -> CollectError {
    CollectError::Missing { getter: GETTER.into(), what: what.into() }
}

fn invalid(problem: impl Into<String>) -> CollectError {
    CollectError::Parameters { getter: GETTER.into(), problem: problem.into() }
}

/// Returns a text that upstream requires of a target; it raises where there is none.
fn required<'a>(target: &'a Value, key: &str) -> Result<&'a str, CollectError> {
    target[key].as_str().ok_or_else(|| invalid(format!("a target of `program_html` has no text `{key}`")))
}

impl Reader<'_> {
    async fn content(&self, target: &Value) -> Result<Value, CollectError> {
        let url = required(target, "url")?;
        let url = match url.split("func:").nth(1).filter(|_| url.starts_with("func")) {
            Some(call) => self.address(call).await?,
            None => url.to_owned(),
        };
        if url == "last" {
            // The page is as the model left it: one that hangs or has crashed shows nothing, and its text is empty.
            return match self.found(target, &self.active).await {
                Err(CollectError::Missing { .. }) => Ok("".into()),
                other => other,
            };
        }
        let page = self.open(&url).await?;
        let found = self.found(target, &page).await;
        self.browser.close(&page).await;
        found
    }

    async fn open(&self, url: &str) -> Result<Value, CollectError> {
        let page = self.browser.open(url).await.map_err(missing)?;
        // A page that never rests is read as it is, as upstream reads all pages after three seconds.
        self.browser.settled(&page, self.context).await;
        let place = self.browser.value(&page, "location.href").await.map_err(missing)?;
        if place.as_str().is_some_and(|place| place.starts_with("chrome-error:")) {
            self.browser.close(&page).await;
            return Err(missing(format!("{url}, which cannot be opened")));
        }
        Ok(page)
    }

    /// Returns the address that a function of upstream gives.
    async fn address(&self, call: &str) -> Result<String, CollectError> {
        match function(call) {
            Some(("reddit_get_post_url", argument)) => {
                let last = self.active["url"].as_str().ok_or_else(|| missing("the address of the page"))?;
                Ok(post_address(&argument.replace("__last_url__", last)))
            }
            Some(("shopping_get_latest_order_url", _)) => {
                let order = self.ask_shop("order", "").await?;
                let order = order.as_str().ok_or_else(|| missing("the number of the latest order"))?;
                Ok(format!("{}/sales/order/view/order_id/{order}/", self.shop()?))
            }
            _ => Err(unknown(call)),
        }
    }

    async fn found(&self, target: &Value, page: &Value) -> Result<Value, CollectError> {
        let locator = required(target, "locator")?;
        if locator.trim().is_empty() {
            let content = self.browser.value(page, CONTENT).await.map_err(missing)?;
            return Ok(content["content"].clone());
        }
        if let Some(call) = locator.strip_prefix("func:") {
            return self.of_function(call, page).await;
        }
        if !(locator.starts_with("document.") || locator.starts_with("[...document.")) {
            return Err(invalid(format!("unknown locator {locator:?}")));
        }
        for action in target["prep_actions"].as_array().into_iter().flatten() {
            let action = action
                .as_str()
                .ok_or_else(|| invalid(format!("a step before reading is no text: {action}")))?;
            // Upstream goes on where an action cannot be done, without those that follow.
            if self.evaluated(action, page).await?.get("failed").is_some() {
                break;
            }
        }
        // Where the script fails, the page is another one, and the text is empty.
        Ok(self.evaluated(locator, page).await?.get("value").cloned().unwrap_or_else(|| "".into()))
    }

    async fn of_function(&self, call: &str, page: &Value) -> Result<Value, CollectError> {
        match function(call) {
            Some(("gitlab_get_project_memeber_role", argument)) => {
                // The first argument is the page itself.
                let account = argument.split_once(',').map_or("", |(_, name)| name);
                let account = account.trim().trim_matches(['\'', '"']);
                let script = MEMBER_ROLE.replace("NAME", &json!(format!("@{account}")).to_string());
                Ok(self.evaluated(&script, page).await?.get("value").cloned().unwrap_or_else(|| "".into()))
            }
            Some(("shopping_get_sku_latest_review_author", sku)) => self.ask_shop("author", &sku).await,
            Some(("shopping_get_sku_latest_review_rating", sku)) => self.ask_shop("rating", &sku).await,
            _ => Err(unknown(call)),
        }
    }

    fn shop(&self) -> Result<&str, CollectError> {
        self.shop.as_deref().ok_or_else(|| missing("the address of the shop"))
    }

    /// Asks the shop's interface by a page of the shop, which may reach it.
    async fn ask_shop(&self, what: &str, part: &str) -> Result<Value, CollectError> {
        let shop = self.shop()?;
        let page = self.open(shop).await?;
        let script = SHOP.replace("BASE", &json!(shop).to_string()).replace("PART", &json!(part).to_string());
        let answer = self.browser.value(&page, &script.replace("WHAT", &json!(what).to_string())).await;
        self.browser.close(&page).await;
        answer.map_err(missing)
    }

    async fn evaluated(&self, script: &str, page: &Value) -> Result<Value, CollectError> {
        let expression = EVALUATE.replace("FOUND", &json!(script).to_string());
        self.browser.value(page, &expression).await.map_err(missing)
    }
}

fn unknown(call: &str) -> CollectError {
    invalid(format!("the Python of the check is not run here: {call}"))
}

/// Takes a call with at most one quoted argument, or the page and another, apart.
fn function(call: &str) -> Option<(&str, String)> {
    let (name, rest) = call.trim().split_once('(')?;
    let argument = rest.strip_suffix(')')?.trim().trim_matches(['\'', '"']);
    Some((name, argument.to_owned()))
}

/// Returns the address of a post from that of any page below it; another address stays as it is.
fn post_address(address: &str) -> String {
    let url = Url::parse(address);
    let parts: Vec<&str> = url.path.split('/').collect();
    match parts.as_slice() {
        [_, "f", forum, post, ..] => format!("{}://{}/f/{forum}/{post}/", url.scheme, url.host),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{function, post_address};

    #[test]
    fn calls_and_posts_are_taken_apart() {
        assert_eq!(function("f('x')"), Some(("f", "x".to_owned())));
        assert_eq!(function("role(__page__, 'ann')"), Some(("role", "__page__, 'ann".to_owned())));
        assert_eq!(function("no call"), None);
        assert_eq!(post_address("http://h:9/f/books/12/a-title?x#y"), "http://h:9/f/books/12/");
        assert_eq!(post_address("http://h:9/user/ann/1"), "http://h:9/user/ann/1");
    }
}
