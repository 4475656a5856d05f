//! gRPC over HTTP/2 with prior knowledge: `Publish`, and what a subscriber calls.

use std::rc::Rc;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Request, Response};
use pubsink_bench::Error;
use tokio::net::TcpStream;

use super::count::FrameCounter;
use super::{Server, pull};

/// Windows that no client fills, so that flow control does not limit it.
const STREAM_WINDOW: u32 = 16 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;

/// Serves one connection until its client closes it.
pub(crate) async fn serve(stream: TcpStream, server: Rc<Server>) -> Result<(), Error> {
    let mut connection = h2::server::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(1_000)
        .handshake::<_, Bytes>(stream)
        .await?;
    while let Some(accepted) = connection.accept().await {
        let (request, answer) = accepted?;
        let server = Rc::clone(&server);
        tokio::task::spawn_local(async move {
            if let Err(error) = call(request, answer, &server).await {
                eprintln!("stub: {error}");
            }
        });
    }
    Ok(())
}

async fn call(
    request: Request<RecvStream>,
    answer: SendResponse<Bytes>,
    server: &Server,
) -> Result<(), Error> {
    let (head, mut body) = request.into_parts();
    let path = head.uri.path();
    match path.rsplit('/').next().unwrap_or_default() {
        "Publish" => {
            let messages = count(body, server).await?;
            reply(answer, server.replies.frame(messages))
        }
        "StreamingPull" => pull::serve(body, answer, &server.pull).await,
        // Its ids have the same place as a publish request's messages.
        "Acknowledge" => {
            count(body, server).await?;
            reply(answer, EMPTY)
        }
        "ModifyAckDeadline" => {
            while let Some(data) = body.data().await {
                body.flow_control().release_capacity(data?.len())?;
            }
            reply(answer, EMPTY)
        }
        _ => Err(format!("{path} is not served").into()),
    }
}

/// The frame of an empty message.
const EMPTY: Bytes = Bytes::from_static(&[0; 5]);

/// Counts what a request has.
async fn count(mut body: RecvStream, server: &Server) -> Result<usize, Error> {
    let mut counter = FrameCounter::default();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        server.came(data.len());
        counter.count(&data)?;
    }
    server.count(counter.messages);
    Ok(counter.messages)
}

fn reply(mut answer: SendResponse<Bytes>, frame: Bytes) -> Result<(), Error> {
    let mut stream = answer.send_response(head()?, false)?;
    stream.send_data(frame, false)?;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    Ok(stream.send_trailers(trailers)?)
}

/// The head of every answer.
pub(crate) fn head() -> Result<Response<()>, Error> {
    let head = Response::builder().header("content-type", "application/grpc");
    Ok(head.body(())?)
}
