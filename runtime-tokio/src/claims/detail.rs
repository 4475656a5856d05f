//! What an object store's error says, without what it must not.

use object_store::Error;
use pubsink_runtime::core::claim::ClaimError;
use pubsink_runtime::core::serde_json::{self, Value};

/// The most characters of a store's own words.
const WORDS_MAX: usize = 300;

/// object_store's words before what a JSON decoder says, which repeats values.
const UNDECODED: &str = "Unable to decode service account file";

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
        // So is a part of credentials that are not what they should be.
        if let Some((text, problem)) = text.split_once(UNDECODED) {
            return match problem.starts_with(": missing field `") {
                true => shown(&format!("{text}{UNDECODED}{problem}")),
                false => shown(&format!("{text}{UNDECODED}")),
            };
        }
        // A file of credentials is repeated after this.
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
    let fields = fields.into_iter().flatten();
    let fields: Vec<String> = fields.map(|field| without_proofs(&field)).collect();
    fields.join(": ")
}

/// The head of a store's words, up to where they repeat what proves who asked.
fn without_proofs(words: &str) -> String {
    // Its bytes stand where they do in the words.
    let lower = words.to_ascii_lowercase();
    let named = NAMES.iter().flat_map(|name| {
        let ends = lower.match_indices(name).map(|(at, _)| at + name.len());
        ends.filter_map(|end| value_of(&lower, end))
    });
    let schemed = SCHEMES.iter().flat_map(|scheme| {
        let ends = lower.match_indices(scheme).map(|(at, _)| at + scheme.len());
        ends.filter(|&end| {
            let token = lower[end..].split_whitespace().next();
            token.is_some_and(|token| token.len() >= TOKEN_MIN)
        })
    });
    match named.chain(schemed).min() {
        Some(end) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// Where the value begins of what is named before `end`. A word that is only spoken of has none.
fn value_of(words: &str, end: usize) -> Option<usize> {
    let of_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    let mut rest = words[end..].trim_start_matches(of_name);
    loop {
        let quote = [
            "\"", "'", "\\", "&quot;", "&apos;", "&#34;", "&#39;", "%22", "%27",
        ];
        let found = quote.iter().find_map(|quote| rest.strip_prefix(quote));
        rest = match found {
            Some(behind) => behind,
            None if rest.starts_with(char::is_whitespace) => rest.trim_start(),
            None => break,
        };
    }
    let assigned = ["=", ":", "%3d", "%3a", "&#61;", "&#58;"];
    let rest = assigned.iter().find_map(|sign| rest.strip_prefix(sign))?;
    Some(words.len() - rest.len())
}

/// What a name has that stands before a secret.
const NAMES: [&str; 10] = [
    "authorization",
    "credential",
    "signature",
    "sig",
    "token",
    "secret",
    "password",
    "x-amz-",
    "x-goog-",
    "x-ms-",
];

/// The schemes of an `authorization` header.
const SCHEMES: [&str; 4] = ["bearer ", "basic ", "sharedkey ", "aws4-hmac-sha256 "];

/// A token is no shorter; most words are.
const TOKEN_MIN: usize = 16;

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
