//! A server that sends what it is told to, byte by byte.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// One thing that a server does with a connection.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Writes.
    Send(Vec<u8>),
    /// Does nothing for a while.
    Pause(Duration),
    /// Waits until the client is gone.
    AwaitClose,
    /// Closes, properly.
    Close,
    /// Writes the same until the client is gone.
    SendForEver(Vec<u8>),
}

/// What a server saw.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A whole request.
    Request(Request),
    /// The end of a connection, by the client.
    Closed,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The request line and the headers.
    pub(super) head: String,
    pub(super) body: String,
}

pub(super) struct Server {
    url: String,
    seen: UnboundedReceiver<Seen>,
}

type Script = dyn FnMut() -> Vec<Step> + Send;

impl Server {
    /// Does with each request what `script` says next.
    pub(super) fn new(script: impl FnMut() -> Vec<Step> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sender, seen) = unbounded_channel();
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(script));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (script, sender) = (Arc::clone(&script), sender.clone());
                thread::spawn(move || serve(&connection, &script, &sender));
            }
        });
        Self { url, seen }
    }

    /// Does the same with each request.
    pub(super) fn always(steps: Vec<Step>) -> Self {
        Self::new(move || steps.clone())
    }

    /// Its base URL.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// What it sees next.
    pub(super) async fn sees(&mut self) -> Seen {
        let seen = tokio::time::timeout(Duration::from_secs(5), self.seen.recv());
        seen.await.unwrap().unwrap()
    }

    /// The request that it sees next.
    pub(super) async fn request(&mut self) -> Request {
        loop {
            if let Seen::Request(request) = self.sees().await {
                return request;
            }
        }
    }
}

/// Serves a connection until one side closes it.
fn serve(connection: &TcpStream, script: &Mutex<Script>, seen: &UnboundedSender<Seen>) {
    connection.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(connection);
    while let Some(request) = read(&mut reader) {
        // A test that is over listens no more.
        let _ = seen.send(Seen::Request(request));
        let steps = script.lock().unwrap_or_else(PoisonError::into_inner)();
        for step in steps {
            if !perform(step, connection, &mut reader) {
                return;
            }
        }
    }
    let _ = seen.send(Seen::Closed);
}

/// Whether the connection goes on.
fn perform(step: Step, mut connection: &TcpStream, reader: &mut BufReader<&TcpStream>) -> bool {
    match step {
        // A client that is gone is noticed when it is read from.
        Step::Send(bytes) => drop(connection.write_all(&bytes)),
        Step::Pause(time) => thread::sleep(time),
        Step::AwaitClose => drop(reader.read_to_end(&mut Vec::new())),
        Step::Close => return false,
        Step::SendForEver(bytes) => while connection.write_all(&bytes).is_ok() {},
    }
    true
}

/// A whole request; `None` after the last one.
pub(super) fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let line = line.to_ascii_lowercase();
        line.strip_prefix("content-length:")?.trim().parse().ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        head,
        body: String::from_utf8(body).unwrap(),
    })
}

pub(super) fn send(bytes: impl AsRef<[u8]>) -> Step {
    Step::Send(bytes.as_ref().to_vec())
}

/// The head of a stream whose pieces are sent one by one.
pub(super) fn head() -> Step {
    send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
}

/// A piece of a stream. A client reads each on its own, however they arrive.
pub(super) fn piece(bytes: &[u8]) -> Step {
    let mut piece = format!("{:x}\r\n", bytes.len()).into_bytes();
    piece.extend_from_slice(bytes);
    piece.extend_from_slice(b"\r\n");
    Step::Send(piece)
}

/// The end of a stream whose pieces are sent one by one.
pub(super) fn end() -> Step {
    send("0\r\n\r\n")
}

/// A whole stream in these pieces, none of them empty.
pub(super) fn events(pieces: &[&[u8]]) -> Vec<Step> {
    let pieces = pieces.iter().map(|bytes| piece(bytes));
    [head()].into_iter().chain(pieces).chain([end()]).collect()
}

/// A whole answer of that status and type.
pub(super) fn document(status: &str, kind: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![send(format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    ))]
}
