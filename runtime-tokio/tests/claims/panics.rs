//! Clients of object stores that panic.

use std::pin::Pin;

use pubsink_tokio::claims::object_store::aws::AmazonS3Builder;
use pubsink_tokio::claims::object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
};
use pubsink_tokio::claims::object_store::{self, ClientOptions};
use pubsink_tokio::claims::{BucketClaims, ClaimStore as _};

use crate::buckets::unavailable;
use crate::contract::claim;

/// A client whose calls panic.
#[derive(Debug)]
struct Panics;

impl HttpConnector for Panics {
    fn connect(&self, _options: &ClientOptions) -> Result<HttpClient, object_store::Error> {
        Ok(HttpClient::new(Self))
    }
}

impl HttpService for Panics {
    // As `async_trait` writes it.
    fn call<'life0, 'async_trait>(
        &'life0 self,
        _request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async { panic!("hunter2") })
    }
}

#[tokio::test]
async fn a_client_that_panics_fails_the_call_alone() {
    // Once it is reached, and before: the endpoint is one that its own code panics over.
    for endpoint in ["http://localhost", "localhost:9000"] {
        let client = AmazonS3Builder::new()
            .with_bucket_name("bucket")
            .with_access_key_id("AKIAEXAMPLE")
            .with_secret_access_key("hunter2")
            .with_allow_http(true)
            .with_endpoint(endpoint)
            .with_http_connector(Panics)
            .build()
            .unwrap();
        let (store, claim) = (BucketClaims::new(client, ""), claim("acme", "one"));
        for said in [
            unavailable(store.check_in(&claim, "x".into()).await),
            unavailable(store.size(&claim).await),
            unavailable(store.fetch(&claim, 9).await),
            unavailable(store.fetch_range(&claim, 0..9).await),
            unavailable(store.fetch_range(&claim, 3..3).await),
        ] {
            assert_eq!(said, "the store's client panicked");
        }
    }
}
