//! A server that sends what it is told to, byte by byte.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// One thing that a server does with a connection.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Writes.
    Send(Vec<u8>),
    /// Writes the same until the client is gone, as fast as it takes it.
    Flood(Vec<u8>),
    /// Writes the same until the client is gone, a little at a time.
    Drip(Vec<u8>),
    /// Waits until the client is gone.
    AwaitClose,
}

/// What a server saw.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Request(Request),
    /// The client closed the connection.
    Closed,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Such as `GET / HTTP/1.1`.
    pub(super) line: String,
    /// As `name: value`, in the order in which they came.
    pub(super) headers: Vec<String>,
    pub(super) body: String,
}

impl Request {
    /// The value of the only header of that name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter_map(|header| {
            let (found, value) = header.split_once(": ")?;
            (found == name).then_some(value)
        });
        let value = found.next();
        assert_eq!(found.next(), None, "`{name}` is there twice");
        value
    }
}

pub(super) struct Server {
    pub(super) port: u16,
    seen: UnboundedReceiver<Seen>,
}

impl Server {
    /// Does with the first connection what the first of `scripts` says, and so on;
    /// each takes one request. After the last one, nobody listens.
    pub(super) fn new(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, seen) = unbounded_channel();
        thread::spawn(move || {
            for script in scripts {
                let (stream, _) = listener.accept().unwrap();
                serve(&stream, script, &sender);
            }
        });
        Self { port, seen }
    }

    /// Answers one request.
    pub(super) fn answering(response: impl AsRef<[u8]>) -> Self {
        Self::new(vec![vec![send(response)]])
    }

    pub(super) fn url(&self, rest: &str) -> String {
        format!("http://127.0.0.1:{}{rest}", self.port)
    }

    /// What it sees next.
    pub(super) async fn sees(&mut self) -> Seen {
        let seen = tokio::time::timeout(Duration::from_secs(10), self.seen.recv());
        seen.await.unwrap().unwrap()
    }

    pub(super) async fn request(&mut self) -> Request {
        loop {
            if let Seen::Request(request) = self.sees().await {
                return request;
            }
        }
    }

    /// Whether no request came so far. Meant for after a call.
    pub(super) fn saw_nothing(&mut self) -> bool {
        self.seen.try_recv().is_err()
    }
}

fn serve(stream: &TcpStream, script: Vec<Step>, seen: &UnboundedSender<Seen>) {
    let mut reader = BufReader::new(stream);
    let Some(request) = read(&mut reader) else {
        return;
    };
    // A test that is over listens no more.
    let _ = seen.send(Seen::Request(request));
    for step in script {
        if perform(step, stream, &mut reader) {
            let _ = seen.send(Seen::Closed);
            return;
        }
    }
}

/// Whether the client is gone.
fn perform(step: Step, mut stream: &TcpStream, reader: &mut BufReader<&TcpStream>) -> bool {
    match step {
        Step::Send(bytes) => return stream.write_all(&bytes).is_err(),
        Step::Flood(bytes) => while stream.write_all(&bytes).is_ok() {},
        Step::Drip(bytes) => {
            while stream.write_all(&bytes).is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        }
        Step::AwaitClose => drop(reader.read_to_end(&mut Vec::new())),
    }
    true
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut request = Request {
        line: lines.remove(0),
        headers: lines,
        body: String::new(),
    };
    let length = request.header("content-length").map(str::parse::<usize>);
    let mut body = vec![0; length.map_or(0, Result::unwrap)];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}

pub(super) fn send(bytes: impl AsRef<[u8]>) -> Step {
    Step::Send(bytes.as_ref().to_vec())
}

/// A whole response of that status, with these headers.
pub(super) fn response(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let mut whole = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    if headers.contains("Transfer-Encoding") {
        whole = format!("HTTP/1.1 {status}\r\n{headers}\r\n");
    }
    [whole.as_bytes(), body].concat()
}

/// A response with this JSON.
pub(super) fn json(body: &str) -> Vec<u8> {
    response("200 OK", "Content-Type: application/json\r\n", body)
}

/// A response with this text.
pub(super) fn text(body: &str) -> Vec<u8> {
    response("200 OK", "Content-Type: text/plain\r\n", body)
}

/// A redirect that leads to `location`.
pub(super) fn redirect(status: u16, location: &str) -> Vec<u8> {
    response(
        &format!("{status} Elsewhere"),
        &format!("Location: {location}\r\n"),
        "moved",
    )
}
