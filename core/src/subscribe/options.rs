//! What an operator sets about a subscription.

use std::time::Duration;

use crate::options::{
    DEFAULT_ENDPOINT, Endpoint, OptionError, ProjectId, SubscriptionId, URL_MAX_BYTES, Wire, check,
    check_millis, plain_options, subscription_path,
};

/// The options of a subscription, checked.
#[derive(Debug, Clone)]
pub struct SubscriberOptions {
    project: ProjectId,
    subscription: SubscriptionId,
    endpoint: Endpoint,
    name: String,
    path: String,
    settings: Settings,
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    wire: Wire,
    max_outstanding: usize,
    max_outstanding_bytes: usize,
    handlers: usize,
    max_held: usize,
    ack_linger: Duration,
    extension_min: Duration,
    extension_max: Duration,
    max_lease: Duration,
    exactly_once: bool,
    max_delivery_attempts: Option<u32>,
    keepalive: Duration,
    timeout: Duration,
    config_patience: Duration,
}

impl SubscriberOptions {
    /// Options for subscription `subscription` (its short id) of `project`, all at their defaults.
    #[must_use]
    pub fn builder(project: &str, subscription: &str) -> SubscriberOptionsBuilder {
        SubscriberOptionsBuilder {
            project: project.to_owned(),
            subscription: subscription.to_owned(),
            endpoint: Ok(DEFAULT_ENDPOINT.to_owned()),
            settings: Settings {
                wire: Wire::Grpc,
                max_outstanding: 1_000,
                max_outstanding_bytes: 100 * 1024 * 1024,
                handlers: 16,
                max_held: 100,
                ack_linger: Duration::from_millis(100),
                extension_min: Duration::from_secs(60),
                extension_max: Duration::from_secs(600),
                max_lease: Duration::from_secs(3_600),
                exactly_once: false,
                max_delivery_attempts: None,
                keepalive: Duration::from_secs(30),
                timeout: Duration::from_secs(5),
                config_patience: Duration::from_secs(60),
            },
        }
    }

    /// The project.
    #[must_use]
    pub fn project(&self) -> &ProjectId {
        &self.project
    }

    /// The subscription.
    #[must_use]
    pub fn subscription(&self) -> &SubscriptionId {
        &self.subscription
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// `projects/P/subscriptions/S`.
    #[must_use]
    pub fn subscription_name(&self) -> &str {
        &self.name
    }

    /// The same, escaped for a URL's path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

/// Sets options and checks them all at once.
#[derive(Debug, Clone)]
pub struct SubscriberOptionsBuilder {
    project: String,
    subscription: String,
    endpoint: Result<String, OptionError>,
    settings: Settings,
}

impl SubscriberOptionsBuilder {
    /// The base URL. Default `https://pubsub.googleapis.com`. For ordering keys and exactly-once
    /// use a locational one (`https://us-east1-pubsub.googleapis.com`).
    #[must_use]
    pub fn endpoint(mut self, url: &str) -> Self {
        self.endpoint = Ok(url.to_owned());
        self
    }

    /// The endpoint of an emulator, `host:port`, as `PUBSUB_EMULATOR_HOST` holds it. The variable
    /// itself is never read here.
    #[must_use]
    pub fn emulator(mut self, host: &str) -> Self {
        self.endpoint = Endpoint::emulator(host).map(|endpoint| endpoint.as_str().to_owned());
        self
    }

    /// Checks every option.
    ///
    /// # Errors
    ///
    /// [`OptionError`] naming the first option that is out of range, its value and its range.
    pub fn build(self) -> Result<SubscriberOptions, OptionError> {
        let project = ProjectId::new(&self.project)?;
        let subscription = SubscriptionId::new(&self.subscription)?;
        let endpoint = Endpoint::new(&self.endpoint?)?;
        self.settings.check()?;
        let path = subscription_path(&project, &subscription);
        check_urls(&endpoint, &path)?;
        Ok(SubscriberOptions {
            name: format!("projects/{project}/subscriptions/{subscription}"),
            path,
            project,
            subscription,
            endpoint,
            settings: self.settings,
        })
    }
}

plain_options! {
    SubscriberOptionsBuilder, SubscriberOptions:
    /// How to speak to Pub/Sub. Default gRPC.
    wire: Wire;
    /// The most messages that are not settled: waiting for a handler, with one, or held for a
    /// retry. Default 1,000, at least 1. No more are asked for while there are as many; what one
    /// answer brings beyond that is kept.
    max_outstanding: usize;
    /// The same in bytes of data, attributes, ordering key and ids. Default 100 MiB, at least 1.
    max_outstanding_bytes: usize;
    /// The most messages that are with handlers at a time. Default 16, at least 1. Those of one
    /// ordering key never are two at a time, whatever this says.
    handlers: usize;
    /// The most messages held for a later retry. Default 100. One beyond is given back at once:
    /// its pause is lost, and so is the risk that held messages take all the room.
    max_held: usize;
    /// How long an ack or a deadline change waits for company. Default and maximum 100 ms.
    ack_linger: Duration;
    /// The least that a lease is extended by. Default 60 s, 10 to 600 s. Handlers that take longer
    /// get longer extensions, by how long most of them take.
    extension_min: Duration;
    /// The most that a lease is extended by at once. Default and maximum 600 s, at least
    /// `extension_min`. A process that dies keeps its messages from others for so long.
    extension_max: Duration;
    /// How long a message is kept from when it was received. Default 60 min, 10 s to 7 days. After
    /// that its lease is left to expire, and Pub/Sub delivers it again.
    max_lease: Duration;
    /// Whether the subscription is exactly-once. Default false; over gRPC the subscription itself
    /// says so, over REST only this does.
    exactly_once: bool;
    /// How often the subscription's dead-letter policy delivers a message before it goes to the
    /// dead-letter topic, 5 to 100. Default none: no policy, or not known. It decides what
    /// [`Settlement::Drop`](super::Settlement::Drop) does.
    max_delivery_attempts: Option<u32>;
    /// How long a stream stays silent before it is kept alive. Default 30 s, 1 s to 60 s: servers
    /// end a stream after about 90 s of silence.
    keepalive: Duration;
    /// How long connecting may take, and how long the answer to an acknowledge or a deadline
    /// change may take after that. Default 5 s, at least 1 ms.
    timeout: Duration;
    /// How long a subscriber goes on trying while all it hears is that subscription, rights or
    /// credentials are wrong. Default 60 s: what was just created may not be found for a moment.
    config_patience: Duration;
}

/// Whether each URL made of the two is one, on either wire.
fn check_urls(endpoint: &Endpoint, path: &str) -> Result<(), OptionError> {
    let rest = format!("/v1/{path}:modifyAckDeadline").len();
    let grpc = "/google.pubsub.v1.Subscriber/ModifyAckDeadline".len();
    let max = URL_MAX_BYTES - rest.max(grpc);
    let length = endpoint.as_str().len();
    if length <= max {
        return Ok(());
    }
    let value = format!("{length} bytes long");
    let range = format!("at most {max} bytes long, for what comes behind it to fit into a URL");
    Err(OptionError::new("endpoint", &value, &range))
}

impl Settings {
    fn check(&self) -> Result<(), OptionError> {
        let any = 1..=usize::MAX;
        check("max_outstanding", self.max_outstanding, any.clone())?;
        check(
            "max_outstanding_bytes",
            self.max_outstanding_bytes,
            any.clone(),
        )?;
        check("handlers", self.handlers, any)?;
        check_millis("ack_linger", self.ack_linger, 0..=100)?;
        check_millis("extension_min", self.extension_min, 10_000..=600_000)?;
        let least = u64::try_from(self.extension_min.as_millis()).unwrap_or(u64::MAX);
        check_millis("extension_max", self.extension_max, least..=600_000)?;
        check_millis("max_lease", self.max_lease, 10_000..=7 * 24 * 3_600_000)?;
        if let Some(attempts) = self.max_delivery_attempts {
            check("max_delivery_attempts", attempts as usize, 5..=100)?;
        }
        check_millis("keepalive", self.keepalive, 1_000..=60_000)?;
        check_millis("timeout", self.timeout, 1..=u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_checked_and_named() {
        let builder = || SubscriberOptions::builder("p", "abc");
        assert!(builder().build().is_ok());
        let second = Duration::from_secs(1);
        for (option, builder) in [
            ("max_outstanding", builder().max_outstanding(0)),
            ("max_outstanding_bytes", builder().max_outstanding_bytes(0)),
            ("handlers", builder().handlers(0)),
            (
                "ack_linger",
                builder().ack_linger(Duration::from_millis(101)),
            ),
            ("extension_min", builder().extension_min(9 * second)),
            ("extension_max", builder().extension_max(59 * second)),
            ("max_lease", builder().max_lease(second)),
            (
                "max_delivery_attempts",
                builder().max_delivery_attempts(Some(4)),
            ),
            (
                "max_delivery_attempts",
                builder().max_delivery_attempts(Some(101)),
            ),
            ("keepalive", builder().keepalive(61 * second)),
            ("timeout", builder().timeout(Duration::ZERO)),
            ("endpoint", builder().endpoint("ftp://x")),
        ] {
            assert_eq!(builder.build().unwrap_err().option, option);
        }
    }

    #[test]
    fn an_endpoint_leaves_room_for_what_comes_behind_it() {
        let id = "a+".repeat(127);
        let build = |length: usize| {
            let endpoint = format!("http://h/{}", "x".repeat(length - "http://h/".len()));
            SubscriberOptions::builder("p", &id)
                .endpoint(&endpoint)
                .build()
        };
        let path = build(100).unwrap().path().len();
        let max = 65_534 - path - "/v1/:modifyAckDeadline".len();
        let options = build(max).unwrap();
        let url = format!("{}/v1/{}", options.endpoint(), options.path());
        assert!(
            format!("{url}:modifyAckDeadline")
                .parse::<http::Uri>()
                .is_ok()
        );
        let error = build(max + 1).unwrap_err();
        assert_eq!(error.option, "endpoint");
        assert_eq!(error.value, format!("{} bytes long", max + 1));
        let expected = format!("at most {max} bytes long, ");
        assert!(error.expected.starts_with(&expected), "{error}");
        assert!(error.to_string().len() < 200);
    }

    #[test]
    fn names_are_whole_and_paths_escaped() {
        let options = SubscriberOptions::builder("p", "a+c").build().unwrap();
        assert_eq!(options.subscription_name(), "projects/p/subscriptions/a+c");
        assert_eq!(options.path(), "projects/p/subscriptions/a%2Bc");
    }
}
