//! Which dead letters are meant, as flags.

use clap::Args;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::Filter;

/// Which dead letters: those for which everything that is given holds.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Which dead letters (all by default)")]
#[group(id = "filters")]
pub(crate) struct FilterFlags {
    /// Of this source
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Of this tenant; an empty one means hooks without
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// Of this class
    #[arg(long, value_name = "permanent|throttled|transient", value_parser = class)]
    class: Option<ErrorClass>,
    /// Failures of configuration (topic, rights, credentials), or all others
    #[arg(long, value_name = "true|false", hide_possible_values = true)]
    config: Option<bool>,
    /// Of this kind of reason: message_too_large, invalid_message, claim_check, pubsub, status,
    /// unexpected_reply, no_credentials, transport, batch_queue_full, key_stopped, sink or
    /// attempt_timeout
    #[arg(long, value_name = "K")]
    kind: Option<String>,
    /// The hook with this id
    #[arg(long, value_name = "ID")]
    hook_id: Option<String>,
    /// Given up at or after this time: RFC 3339, unix milliseconds, or how long ago (2h, 3d)
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<i64>,
    /// Given up before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<i64>,
}

impl FilterFlags {
    /// The filter; `sink` narrows it to one sink.
    pub(crate) fn filter(&self, sink: Option<&str>) -> Filter {
        let flags = self.clone();
        Filter {
            source: flags.source,
            sink: sink.map(str::to_owned),
            tenant: flags.tenant,
            error_class: flags.class,
            config: flags.config,
            kind: flags.kind,
            hook_id: flags.hook_id,
            since: flags.since,
            until: flags.until,
        }
    }
}

fn class(text: &str) -> Result<ErrorClass, String> {
    let found = ErrorClass::ALL
        .into_iter()
        .find(|class| class.as_str() == text);
    found.ok_or_else(|| "it must be permanent, throttled or transient".to_owned())
}

/// A time in any of its forms, as unix milliseconds.
fn time(text: &str) -> Result<i64, String> {
    time_at(text, Timestamp::now())
}

fn time_at(text: &str, now: Timestamp) -> Result<i64, String> {
    if let Ok(unix_ms) = text.parse() {
        return Ok(unix_ms);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.as_millisecond());
    }
    let ago = text.parse::<Span>().ok().filter(|span| !span.is_negative());
    let ago = ago.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    let time = ago.and_then(|ago: SignedDuration| now.checked_sub(ago).ok());
    time.map(|time| time.as_millisecond()).ok_or_else(|| {
        "it must be a time (2026-01-31T12:00:00Z), unix milliseconds, or how long ago (2h, 3d)"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_three_forms() {
        let now = Timestamp::from_millisecond(1_764_500_000_332).unwrap();
        let at = |text: &str| time_at(text, now);
        assert_eq!(at("1764500000332"), Ok(1_764_500_000_332));
        assert_eq!(at("2025-11-30T10:53:20Z"), Ok(1_764_500_000_000));
        assert_eq!(at("2025-11-30T12:53:20.5+02:00"), Ok(1_764_500_000_500));
        assert_eq!(at("2h"), Ok(1_764_500_000_332 - 7_200_000));
        assert_eq!(at("1d 30m"), Ok(1_764_500_000_332 - 86_400_000 - 1_800_000));
        for wrong in ["", "yesterday", "2025-11-30", "-2h", "2", "2x", "99999999w"] {
            assert_eq!(at(wrong).is_ok(), wrong == "2", "{wrong}");
        }
    }

    #[test]
    fn a_class_is_written_as_in_outcomes() {
        assert_eq!(class("throttled"), Ok(ErrorClass::Throttled));
        assert!(class("Permanent").is_err());
    }
}
