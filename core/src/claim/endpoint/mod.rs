//! What an HTTP endpoint that hands claims out answers. Pure: whoever serves it does the I/O.
//!
//! It takes `GET` and `HEAD` of `/v1/claims/<tenant>/<claim id>`, which is [`ClaimRef::path`], and
//! of `/health`, and changes nothing. What a server does with a request:
//!
//! 1. [`Endpoint::ask`]: an answer, or a claim to [`Find`].
//! 2. The claim's size from the store: [`Find::found`] or [`Find::failed`] make the answer of it.
//! 3. Where the answer's body is a [part of the claim](Body::Claim), it is sent in [`pieces`], each
//!    fetched when the one before is sent, so that a body of any size takes the memory of one. A
//!    piece that fails or comes short breaks the connection off: the head has promised its bytes.
//!
//! ```
//! use pubsink_core::claim::endpoint::{Body, Decision, Endpoint, Grant, PIECE_BYTES, pieces};
//! use pubsink_core::http::{HeaderMap, Method};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = Endpoint::new([Grant::tenants("0x5ecre7-0x5ecre7", ["acme"])?])?;
//! let mut headers = HeaderMap::new();
//! headers.insert("authorization", "Bearer 0x5ecre7-0x5ecre7".parse()?);
//! headers.insert("range", "bytes=1000000-".parse()?);
//! let target = "/v1/claims/acme/01KBA6AKJCTAHQPNNMYX0715PE";
//! let Decision::Find(find) = endpoint.ask(&Method::GET, target, &headers) else { unreachable!() };
//!
//! let answer = find.found(3_000_000); // what the store says of find.claim()
//! assert_eq!(answer.status, 206);
//! assert_eq!(answer.headers["content-range"], "bytes 1000000-2999999/3000000");
//! let Body::Claim(range) = answer.body else { unreachable!() };
//! assert_eq!(pieces(range, PIECE_BYTES).next(), Some(1_000_000..2_048_576));
//! # Ok(())
//! # }
//! ```
//!
//! # Who may have what
//!
//! A [`Grant`] is a bearer token with the tenants it opens. A ref grants nothing, also a signed
//! one: its signature is another service's to check, and is not looked at. A tenant that a token
//! does not open is a 403 from the token alone, before anything is asked of the store. So it is the
//! same whether there is such a tenant or claim, nothing can be found out by it, and an operator
//! who has mixed up his tokens is not told that his claims are gone.

mod answer;
mod grant;
mod range;

use http::{HeaderMap, Method, header};

use super::{ClaimError, ClaimRef};
pub use answer::{Answer, Body, PIECE_BYTES, pieces};
pub use grant::{Grant, InvalidGrant, NoGrants};
use range::{ByteRange, Resolved};

/// The decisions of a claim endpoint.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// None: whoever asks is served.
    grants: Option<Vec<Grant>>,
}

impl Endpoint {
    /// An endpoint that serves those who have a token.
    ///
    /// # Errors
    ///
    /// [`NoGrants`] where there is none: nobody could be served. To serve everybody is said with
    /// [`open_to_all`](Self::open_to_all).
    pub fn new(grants: impl IntoIterator<Item = Grant>) -> Result<Self, NoGrants> {
        let grants: Vec<Grant> = grants.into_iter().collect();
        if grants.is_empty() {
            return Err(NoGrants);
        }
        Ok(Self {
            grants: Some(grants),
        })
    }

    /// An endpoint that serves whoever can reach it, all tenants' claims. For tests, and behind a
    /// proxy that checks who asks.
    #[must_use]
    pub fn open_to_all() -> Self {
        Self { grants: None }
    }

    /// Whether it serves whoever asks.
    #[must_use]
    pub fn is_open_to_all(&self) -> bool {
        self.grants.is_none()
    }

    /// What to do with a request. `target` is its path; a query is not looked at.
    #[must_use]
    pub fn ask(&self, method: &Method, target: &str, headers: &HeaderMap) -> Decision {
        match self.route(method, target, headers) {
            Decision::Answer(answer) if method == Method::HEAD => {
                Decision::Answer(answer.head_only())
            }
            decision => decision,
        }
    }

    fn route(&self, method: &Method, target: &str, headers: &HeaderMap) -> Decision {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let claim = path.strip_prefix("/v1/claims/");
        if claim.is_none() && path != "/health" {
            return Decision::Answer(Answer::error(404, "there is nothing here"));
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Decision::Answer(Answer::method_not_allowed());
        }
        let Some(claim) = claim else {
            return Decision::Answer(Answer::healthy());
        };
        let Some((tenant, id)) = claim.split_once('/') else {
            let error = "a claim is /v1/claims/<tenant>/<claim id>";
            return Decision::Answer(Answer::error(404, error));
        };
        if let Some(refusal) = self.refusal(tenant, headers) {
            return Decision::Answer(refusal);
        }
        let claim = match ClaimRef::new(tenant, id) {
            Ok(claim) => claim,
            Err(invalid) => return Decision::Answer(Answer::error(400, &invalid.to_string())),
        };
        let head_only = method == Method::HEAD;
        Decision::Find(Find {
            claim,
            // A range is of a GET only.
            range: range::of(headers).filter(|_| !head_only),
            head_only,
        })
    }

    /// The answer to a request without a token that opens the tenant.
    fn refusal(&self, tenant: &str, headers: &HeaderMap) -> Option<Answer> {
        let grants = self.grants.as_ref()?;
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let token = match (values.next(), values.next()) {
            (None, _) => return Some(Answer::unauthorized(false)),
            (Some(value), None) => grant::bearer(value.as_bytes()),
            // Two tell two stories.
            (Some(_), Some(_)) => None,
        };
        let Some(token) = token else {
            return Some(Answer::unauthorized(true));
        };
        let token = grant::digest(token);
        // Every grant is compared, whichever matches: the time tells nothing of the others.
        let (mut known, mut opened) = (false, false);
        for grant in grants {
            let matches = grant.is_of(&token);
            known |= matches;
            opened |= matches && grant.opens(tenant);
        }
        match (known, opened) {
            (_, true) => None,
            (true, false) => Some(Answer::forbidden()),
            (false, false) => Some(Answer::unauthorized(true)),
        }
    }
}

/// What to do with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// This is the answer.
    Answer(Answer),
    /// It depends on a claim.
    Find(Find),
}

/// A claim that somebody who may have it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    claim: ClaimRef,
    range: Option<ByteRange>,
    head_only: bool,
}

impl Find {
    /// The claim.
    #[must_use]
    pub fn claim(&self) -> &ClaimRef {
        &self.claim
    }

    /// The answer where the store has the claim, with so many bytes.
    #[must_use]
    pub fn found(&self, size: u64) -> Answer {
        let answer = match self.range.map(|range| range.resolve(size)) {
            None | Some(Resolved::Whole) => Answer::whole(size),
            Some(Resolved::Part(range)) => Answer::part(range, size),
            Some(Resolved::Outside) => Answer::outside(size),
        };
        match self.head_only {
            true => answer.head_only(),
            false => answer,
        }
    }

    /// The answer where the store does not say. Of what it said nothing is passed on: that is for
    /// a log.
    #[must_use]
    pub fn failed(&self, error: &ClaimError) -> Answer {
        let answer = match error {
            ClaimError::NotFound => Answer::error(404, "the store has no such claim"),
            ClaimError::Unavailable { .. } => Answer::unavailable(),
            ClaimError::InvalidRef(_) => Answer::error(400, "this is no claim"),
            ClaimError::Integrity { .. } | ClaimError::TooLarge { .. } => {
                Answer::error(500, "the claim cannot be handed out")
            }
        };
        match self.head_only {
            true => answer.head_only(),
            false => answer,
        }
    }
}
