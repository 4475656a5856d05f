use super::*;
use crate::failure::ErrorClass;
use crate::options::PublisherOptionsBuilder;

fn options() -> PublisherOptions {
    builder().build().unwrap()
}

fn builder() -> PublisherOptionsBuilder {
    PublisherOptions::builder("proj", "hooks")
}

fn with_attribute(name: impl Into<String>, value: impl Into<String>) -> Message {
    Message {
        attributes: [(name.into(), value.into())].into_iter().collect(),
        ..Message::new("x")
    }
}

fn with_key(ordering_key: impl Into<String>) -> Message {
    Message {
        ordering_key: ordering_key.into(),
        ..Message::new("x")
    }
}

fn with_attributes(count: usize) -> Message {
    Message {
        attributes: (0..count).map(|n| (format!("{n:03}"), "v")).collect(),
        ..Message::new("x")
    }
}

/// The reason a message is refused for; its failure is permanent and nothing was sent.
fn refused(message: Message) -> Reason {
    refused_by(message, &options())
}

fn refused_by(message: Message, options: &PublisherOptions) -> Reason {
    let failure = Admission::message(message, options).unwrap_err();
    assert_eq!(failure.class, Class::Permanent);
    assert!(!failure.may_have_been_stored);
    (*failure.reason).clone()
}

fn invalid(message: Message) -> InvalidMessage {
    match refused(message) {
        Reason::InvalidMessage(problem) => problem,
        other => panic!("{other:?}"),
    }
}

fn taken(message: Message) -> Admission {
    Admission::message(message, &options()).unwrap()
}

#[test]
fn a_message_needs_data_or_an_attribute() {
    assert_eq!(invalid(Message::default()), InvalidMessage::Blank);
    let key_only = Message {
        ordering_key: "k".into(),
        ..Message::default()
    };
    assert_eq!(invalid(key_only), InvalidMessage::Blank);
    let attribute_only = Message {
        attributes: [("a", "")].into_iter().collect(),
        ..Message::default()
    };
    assert_eq!(taken(attribute_only).size(), 1);
}

#[test]
fn an_attributes_name_has_1_to_256_bytes_of_utf8() {
    assert_eq!(
        invalid(with_attribute("", "v")),
        InvalidMessage::EmptyAttributeName
    );
    taken(with_attribute("n".repeat(256), "v"));
    let problem = invalid(with_attribute("é".repeat(129), "v"));
    let expected = InvalidMessage::AttributeNameTooLong {
        name: Text::new(&"é".repeat(129)),
        size: 258,
        max: 256,
    };
    assert_eq!(problem, expected);
    taken(with_attribute("é".repeat(128), "v"));
}

#[test]
fn an_attributes_value_has_at_most_1024_bytes_of_utf8() {
    taken(with_attribute("n", "é".repeat(512)));
    taken(with_attribute("n", ""));
    let problem = invalid(with_attribute("name", "é".repeat(513)));
    let expected = InvalidMessage::AttributeValueTooLong {
        name: "name".into(),
        size: 1_026,
        max: 1_024,
    };
    assert_eq!(problem, expected);
}

#[test]
fn names_that_start_with_goog_are_googles() {
    for name in ["goog", "google", "googclient_schemaencoding"] {
        let expected = InvalidMessage::ReservedAttributeName { name: name.into() };
        assert_eq!(invalid(with_attribute(name, "v")), expected);
    }
    taken(with_attribute("Google", "v"));
    taken(with_attribute("x-goog", "v"));
}

#[test]
fn a_hundred_attributes_and_no_more() {
    taken(with_attributes(100));
    let expected = InvalidMessage::TooManyAttributes {
        count: 101,
        max: 100,
    };
    assert_eq!(invalid(with_attributes(101)), expected);
}

#[test]
fn an_ordering_key_has_at_most_1024_bytes() {
    taken(with_key("é".repeat(512)));
    let expected = InvalidMessage::OrderingKeyTooLong {
        size: 1_026,
        max: 1_024,
    };
    assert_eq!(invalid(with_key("é".repeat(513))), expected);
}

#[test]
fn odd_characters_are_no_fault() {
    taken(with_attribute("nul\0", "\u{0}\u{FFFF}\u{7F}\"\\"));
    taken(with_key("\u{1F600}\n"));
}

#[test]
fn every_part_of_a_message_counts_against_max_message_bytes() {
    let message = |data: usize| Message {
        data: vec![b'x'; data].into(),
        attributes: [("name", "value")].into_iter().collect(),
        ordering_key: "key".into(),
        tenant: Some("never counted".into()),
    };
    let options = builder().max_message_bytes(20).build().unwrap();
    let admission = Admission::message(message(8), &options).unwrap();
    assert_eq!(admission.size(), 20);
    let expected = Reason::MessageTooLarge {
        size: 21,
        max: 20,
        limit: SizeLimit::Message,
    };
    assert_eq!(refused_by(message(9), &options), expected);
}

#[test]
fn the_largest_body_a_request_may_have_is_taken_and_one_group_of_base64_more_is_not() {
    // {"messages":[{"data":"…"}]} is 26 bytes around the base64, whose groups have four.
    let data = (10_485_760 - 26) / 4 * 3;
    taken(Message::new(vec![0; data]));
    let expected = Reason::MessageTooLarge {
        size: 26 + (data + 1).div_ceil(3) * 4,
        max: 10_485_760,
        limit: SizeLimit::RequestBody,
    };
    assert_eq!(refused(Message::new(vec![0; data + 1])), expected);
}

#[test]
fn json_escapes_count_against_the_body() {
    // The same 7.8 MB of data, beside 100 KiB that stay as they are or grow sixfold.
    let message = |letter: &str| Message {
        attributes: (0..100)
            .map(|n| (format!("{n:02}"), letter.repeat(1_024)))
            .collect(),
        ..Message::new(vec![0; 7_750_000])
    };
    taken(message("x"));
    let Reason::MessageTooLarge { size, max, limit } = refused(message("\u{1}")) else {
        panic!("another reason");
    };
    assert_eq!((max, limit), (10_485_760, SizeLimit::RequestBody));
    // Braces, base64, and of each attribute its name, five times quotes, colon and comma.
    let expected = 26
        + 7_750_000_usize.div_ceil(3) * 4
        + r#","attributes":{}"#.len()
        + 100 * (2 + 6 * 1_024 + r#""":"","#.len())
        - 1;
    assert_eq!(size, expected);
}

#[test]
fn without_batching_a_plain_message_is_direct() {
    assert!(!taken(Message::new("x")).is_direct());
    let options = builder().batch(false).build().unwrap();
    assert!(
        Admission::message(Message::new("x"), &options)
            .unwrap()
            .is_direct()
    );
}

fn envelope() -> Envelope {
    Envelope {
        id: "hook-1".into(),
        source_id: "src".into(),
        tenant_id: Some("acme".into()),
        received_at: 1,
        method: "POST".into(),
        path: "/".into(),
        headers: vec![("X-Kind".into(), "push".into())],
        content_type: None,
        body: "{}".into(),
        dedupe_key: None,
    }
}

fn hook(envelope: &Envelope, context: &DeliveryContext, options: &PublisherOptions) -> Admission {
    Admission::hook(envelope, context, options).unwrap()
}

#[test]
fn a_hook_is_batched_only_where_both_the_delivery_and_the_options_say_so() {
    let (batched, direct) = (DeliveryContext::batched(), DeliveryContext::default());
    let alone = builder().batch(false).build().unwrap();
    assert!(!hook(&envelope(), &batched, &options()).is_direct());
    assert!(hook(&envelope(), &direct, &options()).is_direct());
    assert!(hook(&envelope(), &batched, &alone).is_direct());
}

#[test]
fn a_hooks_ordering_key_is_the_options_own_or_made_from_the_envelope() {
    let context = DeliveryContext::batched();
    let key = |options: PublisherOptionsBuilder| {
        let admission = hook(&envelope(), &context, &options.build().unwrap());
        admission.ordering_key().to_string()
    };
    assert_eq!(key(builder()), "");
    assert_eq!(key(builder().ordering_key("fixed")), "fixed");
    assert_eq!(
        key(builder().ordering_key_with(|hook| hook.source_id.clone())),
        "src"
    );
    assert_eq!(key(builder().ordering_key_with(|_| String::new())), "");
}

#[test]
fn a_plain_message_keeps_its_own_ordering_key() {
    let options = builder().ordering_key("fixed").build().unwrap();
    let admission = Admission::message(with_key("own"), &options).unwrap();
    assert_eq!(&**admission.ordering_key(), "own");
    let admission = Admission::message(Message::new("x"), &options).unwrap();
    assert_eq!(&**admission.ordering_key(), "");
}

#[test]
fn a_hook_counts_its_encoded_message_its_attributes_and_its_key() {
    let options = builder().ordering_key("key").build().unwrap();
    let context = DeliveryContext::batched();
    let admission = hook(&envelope(), &context, &options);
    let (message, _) = HookMessage::new(&envelope(), &context, 65_536).unwrap();
    let attributes = message::attributes(&envelope(), &context);
    let texts: usize = attributes
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    assert_eq!(
        admission.size(),
        message.encode().len() + texts + "key".len()
    );
    assert_eq!(admission.tenant().map(|tenant| &**tenant), Some("acme"));
}

#[test]
fn a_hook_that_breaks_a_rule_is_refused_for_good() {
    let context = DeliveryContext::batched();
    let fail = |envelope: &Envelope, options: &PublisherOptions| {
        let failure = Admission::hook(envelope, &context, options).unwrap_err();
        assert_eq!(failure.class.error_class(), ErrorClass::Permanent);
        (failure.class.is_config(), failure.reason.kind())
    };
    let bad_header = Envelope {
        headers: vec![("X-Kind".into(), Bytes::from_static(b"a\xC5z"))],
        ..envelope()
    };
    assert_eq!(fail(&bad_header, &options()), (false, "invalid_message"));
    let long_source = Envelope {
        source_id: "s".repeat(1_025),
        ..envelope()
    };
    assert_eq!(fail(&long_source, &options()), (false, "invalid_message"));
    let no_claim = Envelope {
        body: vec![0; 65_537].into(),
        ..envelope()
    };
    // The hook is as it should be: it is the operator who gave no claim store.
    assert_eq!(fail(&no_claim, &options()), (true, "claim_check"));
    let small = builder().max_message_bytes(100).build().unwrap();
    assert_eq!(fail(&envelope(), &small), (false, "message_too_large"));
}

#[test]
fn an_attempt_counts_from_one() {
    assert_eq!(taken(Message::new("x")).attempt(), 1);
    assert_eq!(taken(Message::new("x")).with_attempt(0).attempt(), 1);
    assert_eq!(taken(Message::new("x")).with_attempt(7).attempt(), 7);
    let context = DeliveryContext {
        attempt: 4,
        ..DeliveryContext::batched()
    };
    assert_eq!(hook(&envelope(), &context, &options()).attempt(), 4);
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn a_hooks_trace_travels_as_attributes_where_it_is_asked_for() {
    let mut traced = envelope();
    traced.headers.push(("Traceparent".into(), TRACE.into()));
    traced.headers.push(("Tracestate".into(), "a=1".into()));
    let traces = |envelope: &Envelope, context: &DeliveryContext, options: &PublisherOptions| {
        let admission = hook(envelope, context, options);
        let names = ["traceparent", "tracestate"];
        names.map(|name| admission.body().attributes().get(name).map(str::to_owned))
    };
    let (off, on) = (options(), builder().trace_context(true).build().unwrap());
    let plain = DeliveryContext::batched();
    assert_eq!(traces(&traced, &plain, &off), [None, None]);
    let own = [Some(TRACE.to_owned()), Some("a=1".to_owned())];
    assert_eq!(traces(&traced, &plain, &on), own);
    assert_eq!(traces(&envelope(), &plain, &on), [None, None]);
    // The attempt's own, whatever the hook came with, and as it is given.
    let attempt = TRACE.replace("b7ad6b7169203331", "00f067aa0ba902b7");
    let of_attempt = DeliveryContext {
        trace_context: TraceContext::new(&attempt),
        ..DeliveryContext::batched()
    };
    for options in [&off, &on] {
        assert_eq!(
            traces(&traced, &of_attempt, options),
            [Some(attempt.clone()), None]
        );
    }
}

#[test]
fn a_trace_leaves_the_data_alone_and_counts_as_any_attribute() {
    let mut traced = envelope();
    traced.headers.push(("traceparent".into(), TRACE.into()));
    let context = DeliveryContext::batched();
    let on = builder().trace_context(true).build().unwrap();
    let (with, without) = (
        hook(&traced, &context, &on),
        hook(&traced, &context, &options()),
    );
    let data = |admission: &Admission| match admission.body().content() {
        Content::Hook(hook) => hook.encode(),
        Content::Plain(data) => data.clone(),
    };
    assert_eq!(data(&with), data(&without));
    assert_eq!(
        with.size() - without.size(),
        "traceparent".len() + TRACE.len()
    );
}

#[test]
fn data_is_not_shown() {
    let message = Message::new("hunter2");
    let shown = format!("{message:?} {:?}", taken(message.clone()));
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("data_len: 7"), "{shown}");
    let shown = format!(
        "{:?}",
        hook(&envelope(), &DeliveryContext::default(), &options())
    );
    assert!(
        !shown.contains("push") && shown.contains("hook-1"),
        "{shown}"
    );
}
