//! Whatever goes in, what comes out is a document.

use proptest::prelude::*;
use pubsink_core::asyncapi::AsyncApi;
use pubsink_core::sink::{Description, Payload, Subject};

use super::samples::{NASTY, nasty, subject, topic};
use super::structure::{checked, members};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]{0,2}",
        2 => prop::sample::select(&NASTY[..]).prop_map(str::to_owned),
        2 => any::<String>(),
        1 => "[a-z/:@?#{}.\"\\\\]{0,16}",
        1 => (1usize..5_000).prop_map(|len| "é".repeat(len)),
    ]
}

fn description() -> impl Strategy<Value = Description> {
    let protocol = prop_oneof![3 => Just("googlepubsub".to_owned()), 1 => text()];
    let key = prop::option::of(text());
    let body = prop::bool::weighted(0.1);
    let set = prop::option::weighted(0.2, (text(), text(), text()));
    (protocol, text(), text(), key, body, set).prop_map(
        |(protocol, host, address, key, body, set)| {
            let mut description = Description::message(protocol, host, address);
            description.ordering_key = key;
            if body {
                description.payload = Payload::Body;
            }
            if let Some((protocol, host, address)) = set {
                description.protocol = protocol;
                description.host = host;
                description.address = address;
            }
            description
        },
    )
}

fn entry() -> impl Strategy<Value = (Subject, String, Description)> {
    let subject = (text(), prop::option::of(text())).prop_map(|(source_id, tenant_id)| Subject {
        source_id,
        tenant_id,
    });
    (subject, text(), description())
}

proptest! {
    #[test]
    fn it_is_valid_and_does_not_depend_on_the_order(
        (title, version, about) in (text(), text(), prop::option::of(text())),
        (entries, shuffled) in prop::collection::vec(entry(), 0..12)
            .prop_flat_map(|entries| (Just(entries.clone()), Just(entries).prop_shuffle())),
        as_described in any::<bool>(),
    ) {
        let make = |entries: Vec<_>| {
            let mut document = AsyncApi::new(title.clone(), version.clone());
            if let Some(about) = &about {
                document = document.description(about.clone());
            }
            if as_described {
                document = document.bindings_as_described();
            }
            document.extend(entries);
            document.to_json()
        };
        let json = make(entries);
        let document = checked(&json);
        prop_assert_eq!(&document["info"]["title"], &title);
        prop_assert_eq!(make(shuffled), json);
    }
}

#[test]
fn nasty_names_all_have_their_place() {
    let document = checked(&nasty().to_json());
    let sources = document.to_string();
    for text in NASTY {
        let pinned = format!("\"source_id\":{{\"const\":{}}}", serde_json::json!(text));
        assert!(sources.contains(&pinned), "{text:?}");
    }
}

#[test]
fn many_sources_whose_names_are_the_same() {
    let mut document = AsyncApi::new("t", "1");
    for number in 0..5_000_u32 {
        // Private characters, of which none is left in a name.
        let source = char::from_u32(0xF0000 + number).unwrap().to_string();
        document.add(&subject(&source, None), "s", &topic("hooks"));
    }
    let document = checked(&document.to_json());
    assert_eq!(members(&document["operations"]).len(), 5_000);
}
