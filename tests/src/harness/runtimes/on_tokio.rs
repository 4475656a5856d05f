//! tokio.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pubsink_core::options::Wire;
use pubsink_core::subscribe::SubscriberOptions;
use pubsink_runtime::dispatch::Dispatch;
use pubsink_runtime::seam::{Calls, Runtime as _};
use pubsink_runtime::service::{Service, ServiceHandle};
use pubsink_runtime::subscribe::Subscription;
use pubsink_runtime::{Driver, Publisher};
use pubsink_tokio::{Http2Client, HttpClient, Tokio};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::harness::any::{AnyClaims, AnyTransport};
use crate::harness::dispatching::Plan;
use crate::harness::host::{
    Client, Flavor, Host, Sink, Spec, Started, connect_dispatch, serve, sleep,
};

pub(super) fn start(flavor: Flavor, thread_name: &str) -> Box<dyn Started> {
    let mut builder = match flavor {
        Flavor::CurrentThread => Builder::new_current_thread(),
        Flavor::Workers(count) => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(count);
            builder
        }
    };
    let runtime = builder.thread_name(thread_name).enable_all().build();
    Box::new(OnTokio(Some(runtime.expect("tokio starts"))))
}

struct OnTokio(Option<Runtime>);

impl Started for OnTokio {
    fn host(&self) -> Arc<dyn Host> {
        let runtime = self.0.as_ref().expect("it runs until it is dropped");
        Arc::new(TokioHost(runtime.handle().clone()))
    }

    fn block_on(&self, future: BoxFuture<'_, ()>) {
        self.0
            .as_ref()
            .expect("it runs until it is dropped")
            .block_on(future);
    }
}

impl Drop for OnTokio {
    fn drop(&mut self) {
        // A case may shut a second runtime down from inside the first.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

struct TokioHost(Handle);

impl Host for TokioHost {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        Tokio::new(self.0.clone()).spawn(task);
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        sleep(Tokio::new(self.0.clone()), time)
    }

    fn transport(&self, client: &Client) -> AnyTransport {
        match client {
            Client::Default => AnyTransport::new(HttpClient::new()),
            Client::Http2 => AnyTransport::new(HttpClient::builder().http2(true).build()),
            Client::Calls => AnyTransport::new(Calls::new(Http2Client::new())),
            Client::IdleTimeout(time) => {
                AnyTransport::new(HttpClient::builder().idle_timeout(*time).build())
            }
            Client::Own(transport) => transport.clone(),
        }
    }

    fn publisher(&self, spec: Spec) -> Publisher {
        if spec.options.wire() == Wire::Grpc && !matches!(spec.client, Client::Default) {
            // Its transport is one already.
            let (publisher, driver) = self.connect(spec);
            self.spawn(Box::pin(driver));
            return publisher;
        }
        let _inside = self.0.enter();
        let builder = pubsink_tokio::publisher(spec.options);
        let spawned = match (spec.client, spec.tokens) {
            (Client::Default, None) => builder.spawn(),
            (Client::Default, Some(tokens)) => builder.token_provider(tokens).spawn(),
            (client, None) => builder.transport(self.transport(&client)).spawn(),
            (client, Some(tokens)) => {
                let builder = builder.transport(self.transport(&client));
                builder.token_provider(tokens).spawn()
            }
        };
        spawned.expect("this is inside a runtime")
    }

    fn connect(&self, spec: Spec) -> (Publisher, Driver) {
        let spec = spec.explicit();
        let transport = self.transport(&spec.client);
        let runtime = Tokio::new(self.0.clone());
        pubsink_runtime::connect(spec.options, runtime, transport, spec.tokens, 1)
    }

    fn connect_recorded(&self, spec: Spec, sink: Sink) -> (Publisher, Driver) {
        let spec = spec.explicit();
        let transport = self.transport(&spec.client);
        let runtime = Tokio::new(self.0.clone());
        pubsink_runtime::connect_recorded(spec.options, runtime, transport, spec.tokens, 1, sink)
    }

    fn claims(&self, url: &str) -> AnyClaims {
        AnyClaims::new(pubsink_tokio::claims::open(url).expect("it is the URL of a directory"))
    }

    fn dispatch(&self, plan: Plan) -> Dispatch {
        let _inside = self.0.enter();
        let mut builder = pubsink_tokio::dispatch(plan.journal).options(plan.options);
        for (name, sink) in plan.sinks {
            builder = builder.sink(name, sink);
        }
        if let Some(claims) = plan.claims {
            builder = builder.claims(claims);
        }
        let spawned = builder.on_event(plan.observer).seed(1).spawn();
        spawned.expect("the case's options are in range")
    }

    fn connect_dispatch(&self, plan: Plan) -> (Dispatch, Driver) {
        connect_dispatch(Tokio::new(self.0.clone()), plan)
    }

    fn subscription(&self, options: SubscriberOptions) -> Subscription {
        let _inside = self.0.enter();
        let spawned = pubsink_tokio::subscription(options).seed(1).spawn();
        spawned.expect("this is inside a runtime")
    }

    fn serve(&self, service: Service) -> ServiceHandle {
        serve(&Tokio::new(self.0.clone()), service)
    }
}
