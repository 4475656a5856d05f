//! W3C Trace Context: which trace a delivery belongs to.

use std::fmt;

use bytes::Bytes;

use crate::attributes::Attributes;
use crate::envelope::Envelope;
use crate::limits::ATTRIBUTE_VALUE_MAX_BYTES;

/// The name of the attribute, and of the header, that tells the trace and the span in it.
pub const TRACEPARENT: &str = "traceparent";

/// The name of the attribute, and of the header, that holds what tracing systems add to it.
pub const TRACESTATE: &str = "tracestate";

/// A trace and a span in it, as [W3C Trace Context](https://www.w3.org/TR/trace-context/) writes
/// them. What is held is well-formed: others wrote it, and it goes to others again.
///
/// ```
/// use pubsink_core::trace_context::TraceContext;
///
/// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let trace = TraceContext::new(parent).unwrap().with_state("vendor=1");
/// assert_eq!((trace.traceparent(), trace.tracestate()), (parent, Some("vendor=1")));
/// assert!(TraceContext::new("00-0-0-01").is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TraceContext {
    parent: String,
    state: Option<String>,
}

impl TraceContext {
    /// Reads a `traceparent` of version 00: ids in lowercase hex, neither of them all zero. None
    /// for anything else.
    #[must_use]
    pub fn new(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let well_formed = [2, 32, 16, 2].iter().all(|len| {
            let part = parts.next().unwrap_or_default();
            let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let is_id = *len > 2;
            part.len() == *len
                && part.bytes().all(hex)
                && (!is_id || part.bytes().any(|byte| byte != b'0'))
        });
        let version_0 = traceparent.starts_with("00-");
        (well_formed && version_0 && parts.next().is_none()).then(|| Self {
            parent: traceparent.to_owned(),
            state: None,
        })
    }

    /// The same trace with this `tracestate`. One that is not well-formed, or longer than an
    /// attribute may be (1,024 bytes), is left out; the trace goes without.
    #[must_use]
    pub fn with_state(mut self, tracestate: &str) -> Self {
        let state = tracestate.trim_matches([' ', '\t', ',']);
        let fits = !state.is_empty() && state.len() <= ATTRIBUTE_VALUE_MAX_BYTES;
        self.state = (fits && is_state(state)).then(|| state.to_owned());
        self
    }

    /// The same trace, with the state that a hook of this trace came with where it has none.
    #[must_use]
    pub fn or_state_of_hook(mut self, envelope: &Envelope) -> Self {
        if self.state.is_none()
            && let Some(own) = Self::of_hook(envelope)
            && own.trace_id() == self.trace_id()
        {
            self.state = own.state;
        }
        self
    }

    /// The trace that a hook came with, in its headers. Two headers `traceparent` are none.
    #[must_use]
    pub fn of_hook(envelope: &Envelope) -> Option<Self> {
        let mut parents = values(envelope, TRACEPARENT);
        let parent = parents.next()?;
        if parents.next().is_some() {
            return None;
        }
        let trace = Self::new(text(parent)?)?;
        let states: Option<Vec<_>> = values(envelope, TRACESTATE).map(text).collect();
        Some(match states {
            Some(states) if !states.is_empty() => trace.with_state(&states.join(",")),
            _ => trace,
        })
    }

    /// The trace and the span, as `traceparent` writes them.
    #[must_use]
    pub fn traceparent(&self) -> &str {
        &self.parent
    }

    /// What tracing systems add to it.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    fn trace_id(&self) -> Option<&str> {
        self.parent.split('-').nth(1)
    }

    /// Puts it among a message's attributes.
    pub(crate) fn write(&self, attributes: &mut Attributes) {
        attributes.insert(TRACEPARENT, self.parent.clone());
        if let Some(state) = &self.state {
            attributes.insert(TRACESTATE, state.clone());
        }
    }
}

/// Without the state, which is the tracing systems' own.
impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceContext")
            .field("traceparent", &self.parent)
            .finish_non_exhaustive()
    }
}

fn values<'a>(envelope: &'a Envelope, name: &'static str) -> impl Iterator<Item = &'a Bytes> {
    let headers = envelope.headers.iter();
    headers
        .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

fn text(value: &Bytes) -> Option<&str> {
    std::str::from_utf8(value).ok()
}

/// Whether it is a list of at most 32 pairs `key=value`; some of them may be empty.
fn is_state(state: &str) -> bool {
    let members = state
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']));
    let mut count = 0;
    let well_formed = members.filter(|member| !member.is_empty()).all(|member| {
        count += 1;
        let key =
            |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
        let value = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
        member.split_once('=').is_some_and(|(name, rest)| {
            !name.is_empty() && name.bytes().all(key) && !rest.is_empty() && rest.bytes().all(value)
        })
    });
    well_formed && count <= 32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn hook(headers: &[(&str, &[u8])]) -> Envelope {
        let mut hook = Envelope::new("1", "s", 0, "");
        hook.headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Bytes::copy_from_slice(value)))
            .collect();
        hook
    }

    #[test]
    fn only_a_traceparent_of_version_0_is_one() {
        let good = [
            PARENT,
            "00-00000000000000000000000000000001-0000000000000001-00",
        ];
        for good in good {
            assert_eq!(TraceContext::new(good).unwrap().traceparent(), good);
        }
        for bad in [
            "",
            "00",
            "my password",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-é",
        ] {
            assert!(TraceContext::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_state_that_is_none_is_left_out() {
        let state = |state: &str| {
            let trace = TraceContext::new(PARENT).unwrap().with_state(state);
            trace.tracestate().map(str::to_owned)
        };
        for good in [
            "a=1",
            "t61rcwkgmze@v=ab c,rojo=00f067aa0ba902b7",
            "a=1,,b=2",
            "a=1 , b=2",
        ] {
            assert_eq!(state(good).as_deref(), Some(good));
        }
        assert_eq!(state(" ,a=1, ").as_deref(), Some("a=1"));
        let pairs = |count: usize| vec!["k=v"; count].join(",");
        assert!(state(&pairs(32)).is_some());
        let long = |len: usize| format!("a={}", "v".repeat(len - 2));
        assert!(state(&long(1_024)).is_some());
        for bad in [
            "",
            " , ",
            "secret",
            "=1",
            "a=",
            "A=1",
            "a=1=2",
            "a=\u{7f}",
            "a=é",
            "a=1\n",
            &pairs(33),
            &long(1_025),
        ] {
            assert_eq!(state(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_hooks_own_is_in_its_headers() {
        let parent = PARENT.as_bytes();
        let of = |headers: &[(&str, &[u8])]| TraceContext::of_hook(&hook(headers));
        let trace = of(&[
            ("tracestate", b"a=1"),
            ("TraceParent", parent),
            ("TRACESTATE", b"b=2"),
        ]);
        assert_eq!(trace.unwrap().tracestate(), Some("a=1,b=2"));
        let bare = of(&[("traceparent", parent), ("tracestate", b"\xFF=1")]).unwrap();
        assert_eq!((bare.traceparent(), bare.tracestate()), (PARENT, None));
        assert_eq!(of(&[("tracestate", b"a=1")]), None);
        assert_eq!(
            of(&[("traceparent", parent), ("Traceparent", parent)]),
            None
        );
        assert_eq!(of(&[("traceparent", &[0xFF; 55])]), None);
    }

    #[test]
    fn another_span_of_a_hooks_trace_keeps_its_state() {
        let headers: &[(&str, &[u8])] =
            &[("traceparent", PARENT.as_bytes()), ("tracestate", b"a=1")];
        let of = |parent: &str| TraceContext::new(parent).unwrap();
        let state = |trace: TraceContext, headers: &[(&str, &[u8])]| {
            let trace = trace.or_state_of_hook(&hook(headers));
            trace.tracestate().map(str::to_owned)
        };
        let child = of(&PARENT.replace("b7ad", "0000"));
        assert_eq!(state(child.clone(), headers).as_deref(), Some("a=1"));
        assert_eq!(state(child.clone(), &headers[1..]), None);
        let kept = state(child.with_state("b=2"), headers);
        assert_eq!(kept.as_deref(), Some("b=2"));
        assert_eq!(state(of(&PARENT.replace("0af7", "0000")), headers), None);
    }

    #[test]
    fn its_state_is_not_shown() {
        let trace = TraceContext::new(PARENT)
            .unwrap()
            .with_state("vendor=hunter2");
        let shown = format!("{trace:?}");
        assert!(
            shown.contains(PARENT) && !shown.contains("hunter2"),
            "{shown}"
        );
    }
}
