//! What an object store's error says, without what it must not.

use object_store::Error;
use pubsink_runtime::core::claim::ClaimError;
use pubsink_runtime::core::serde_json::{self, Value};

/// The most characters of a store's own words.
const WORDS_MAX: usize = 300;

/// The claim's error. A bucket that is not there has lost no claims: it is named wrong, or not
/// made yet.
pub(super) fn claim_error(error: &Error) -> ClaimError {
    match error {
        Error::NotFound { .. } if !is_of_bucket(&error.to_string()) => ClaimError::NotFound,
        error => ClaimError::unavailable(detail(error)),
    }
}

/// Whether it is the bucket that was not found, in the providers' words.
fn is_of_bucket(text: &str) -> bool {
    let code = element(text, "Code");
    matches!(code.as_deref(), Some("NoSuchBucket" | "ContainerNotFound"))
}

/// What an error says. Of a reply, its status, and the code and message of its error document: the
/// rest may repeat the request's headers, tokens among them. Of everything else the text, without
/// what a URL can hide.
pub(super) fn detail(error: &Error) -> String {
    let text = error.to_string();
    let reply = ["non-2xx status code: ", "error response: "]
        .iter()
        .find_map(|said| text.split_once(said));
    let Some((_, reply)) = reply else {
        // A file of credentials that is not what it should be is repeated after this.
        return match text.split_once("string \"") {
            Some((text, _)) => shown(&format!("{text}string …")),
            None => shown(&text),
        };
    };
    let (status, document) = reply.split_once(": ").unwrap_or((reply, ""));
    // A reply in the place of a status is a document too.
    let (status, document) = match status.starts_with(|first: char| first.is_ascii_digit()) {
        true => (status, document),
        false => ("an error", reply),
    };
    match words(document) {
        words if words.is_empty() => shown(status),
        words => shown(&format!("{status}: {words}")),
    }
}

/// The code and the message of an error document.
fn words(document: &str) -> String {
    let fields = match document.contains("<Error") {
        true => ["Code", "Message"].map(|name| element(document, name)),
        false => ["error", "message"].map(|name| member(document, name)),
    };
    let fields: Vec<String> = fields.into_iter().flatten().collect();
    fields.join(": ")
}

/// The text of an XML element.
fn element(document: &str, name: &str) -> Option<String> {
    let (_, rest) = document.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.to_owned())
}

/// The text of a member of a JSON object, or of its `error` object.
fn member(document: &str, name: &str) -> Option<String> {
    let document: Value = serde_json::from_str(document).ok()?;
    let member = document
        .get(name)
        .or_else(|| document.get("error")?.get(name));
    member?.as_str().map(str::to_owned)
}

/// The head of a text, on one line, and its URLs without user and query.
fn shown(text: &str) -> String {
    let words = text.split_whitespace().map(without_secrets);
    let text = words.collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn without_secrets(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.to_owned();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}
