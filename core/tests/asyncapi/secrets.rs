//! No credential reaches a document, whatever a sink puts where.

use pubsink_core::asyncapi::AsyncApi;
use pubsink_core::sink::{Description, UNKNOWN_HOST};

use super::samples::subject;
use super::structure::checked;

const SECRETS: [&str; 10] = [
    "https://user:hunter2@example.com/v1",
    "https://hunter2@example.com",
    "user:hunter2@example.com:8443",
    "https:/user:hunter2@example.com",
    "https://user:hunter2/3@example.com",
    "https://user:hunter2?3@example.com",
    "https://example.com/v1?access_token=hunter2",
    "example.com?access_token=hunter2",
    "https://example.com/#access_token=hunter2",
    "example.com/?mail=user@hunter2",
];

fn document(description: &Description) -> String {
    let mut document = AsyncApi::new("t", "1").bindings_as_described();
    document.add(&subject("a", None), "s", description);
    let text = document.to_json();
    checked(&text);
    text
}

#[test]
fn handed_in_as_the_host() {
    for secret in SECRETS {
        let description = Description::message("googlepubsub", secret, "projects/p/topics/t");
        assert!(!format!("{description:?}").contains("hunter2"), "{secret}");
        assert!(!document(&description).contains("hunter2"), "{secret}");
        let known = ["example.com", "example.com:8443", UNKNOWN_HOST];
        assert!(
            known.contains(&description.host.as_str()),
            "{description:?}"
        );
    }
}

#[test]
fn handed_in_as_the_address_or_the_protocol() {
    for secret in SECRETS {
        let description = Description::message("kafka", "example.com", secret);
        assert!(!format!("{description:?}").contains("hunter2"), "{secret}");
        assert!(!document(&description).contains("hunter2"), "{secret}");
        let description = Description::message(secret, "example.com", "hooks");
        assert!(!format!("{description:?}").contains("hunter2"), "{secret}");
        assert!(!document(&description).contains("hunter2"), "{secret}");
    }
}

#[test]
fn set_on_a_description_that_was_clean() {
    for secret in SECRETS {
        let mut description = Description::message("googlepubsub", "h", "projects/p/topics/t");
        description.host = secret.to_owned();
        description.address = secret.to_owned();
        assert!(!document(&description).contains("hunter2"), "{secret}");
    }
}
