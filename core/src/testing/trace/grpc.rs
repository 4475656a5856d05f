//! How a call over gRPC ended, as a trace keeps it.

use std::time::Duration;

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::line::nanos;
use crate::testing::over_grpc::{failed, ok};
use crate::token::Token;
use crate::wire::ErrorDocument;
use crate::wire::grpc::status::{GrpcStatus, read_status};

/// The name of its code, and what else decides its class or is shown.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallEnd {
    status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_delay_ns: Option<u64>,
}

impl CallEnd {
    /// What an answer says of it, without `token`; none where it does not say.
    pub(super) fn read(
        headers: &HeaderMap,
        trailers: &HeaderMap,
        token: Option<&Token>,
    ) -> Option<Self> {
        let document = match read_status(headers, trailers)? {
            GrpcStatus::Failed { document, .. } => document,
            GrpcStatus::Ok => ErrorDocument {
                status: "OK".to_owned(),
                ..ErrorDocument::default()
            },
        };
        let show = |text: &str| {
            let hidden = token.and_then(|token| token.hide_in(text.as_bytes()));
            hidden.map_or_else(
                || text.to_owned(),
                |hidden| String::from_utf8_lossy(&hidden).into_owned(),
            )
        };
        Some(Self {
            status: document.status,
            message: show(&document.message),
            reasons: document
                .infos
                .iter()
                .map(|info| show(&info.reason))
                .collect(),
            retry_delay_ns: document.retry_delay.map(nanos),
        })
    }

    /// Trailers that say the same.
    pub(super) fn fields(self) -> HeaderMap {
        if self.status == "OK" {
            return ok();
        }
        let reasons = self.reasons.iter().map(String::as_str);
        let pause = self.retry_delay_ns.map(Duration::from_nanos);
        failed(&self.status, &self.message, reasons, pause)
    }
}
