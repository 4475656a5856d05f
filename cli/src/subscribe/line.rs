//! A message as a line of JSON.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use pubsink_runtime::service::Context;
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    publish_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordering_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_attempt: Option<u32>,
    attributes: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Text { data: &'a str },
    Bytes { data_base64: String },
}

/// The line, with its end.
pub(super) fn line(context: &Context) -> serde_json::Result<Vec<u8>> {
    let time = context.publish_time().map(Timestamp::from_millisecond);
    let line = Line {
        message_id: context.message_id().as_str(),
        publish_time: time.and_then(Result::ok).map(|time| time.to_string()),
        ordering_key: context.ordering_key(),
        delivery_attempt: context.delivery_attempt(),
        attributes: context.message().attributes.iter().collect(),
        data: match std::str::from_utf8(context.data()) {
            Ok(data) => Data::Text { data },
            Err(_) => Data::Bytes {
                data_base64: STANDARD.encode(context.data()),
            },
        },
    };
    let mut line = serde_json::to_vec(&line)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubsink_core::failure::MessageId;
    use pubsink_core::subscribe::{AckId, ReceivedMessage};

    fn written(change: impl FnOnce(&mut ReceivedMessage)) -> String {
        let id = MessageId::from_utf8("7").unwrap();
        let mut message = ReceivedMessage::new(AckId::from("a"), id, "two\nlines");
        change(&mut message);
        let context = Context::new(message, "projects/p/subscriptions/s");
        String::from_utf8(line(&context).unwrap()).unwrap()
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        let expected = "{\"message_id\":\"7\",\"attributes\":{},\"data\":\"two\\nlines\"}\n";
        assert_eq!(written(|_| {}), expected);
    }

    #[test]
    fn what_is_there_is_written() {
        let written = written(|message| {
            message.data = vec![0xff, 0].into();
            message.attributes.insert("b", "1");
            message.attributes.insert("a", "\"");
            message.ordering_key = "k".to_owned();
            message.publish_time = 1_764_500_000_332;
            message.delivery_attempt = Some(2);
        });
        let expected = "{\"message_id\":\"7\",\"publish_time\":\"2025-11-30T10:53:20.332Z\",\
                        \"ordering_key\":\"k\",\"delivery_attempt\":2,\
                        \"attributes\":{\"a\":\"\\\"\",\"b\":\"1\"},\"data_base64\":\"/wA=\"}\n";
        assert_eq!(written, expected);
    }

    #[test]
    fn a_time_that_is_none_is_left_out() {
        let written = written(|message| message.publish_time = i64::MAX);
        assert!(!written.contains("publish_time"), "{written}");
    }
}
