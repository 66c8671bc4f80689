//! The pipes of a program: all moved at once, and held within limits.

use std::{collections::VecDeque, future::Future, io};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
};

/// How much is read at once, in bytes.
const CHUNK: usize = 8 << 10;

/// More was written than is kept.
#[derive(Debug)]
pub(super) struct Over;

/// The three pipes of a program.
#[derive(Debug)]
pub(super) struct Pump {
    input: Input,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    pub(super) head: Head,
    pub(super) tail: Tail,
    /// Whether to stop where the head is full.
    strict: bool,
}

/// What is to be written, and how much of it was.
#[derive(Debug)]
struct Input {
    pipe: Option<ChildStdin>,
    bytes: io::Cursor<Vec<u8>>,
}

/// The first bytes of a stream.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) bytes: Vec<u8>,
    limit: usize,
    /// Whether there were more.
    pub(super) over: bool,
}

/// The last bytes of a stream.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) bytes: VecDeque<u8>,
    limit: usize,
    /// Whether there were more.
    pub(super) over: bool,
}

impl Pump {
    /// Takes the pipes of `child`, which reads `input` and of whose output
    /// `head` and errors `tail` bytes are kept. A `strict` one stops where the
    /// head is full; another one reads on and forgets.
    pub(super) fn new(
        child: &mut Child,
        input: Vec<u8>,
        head: usize,
        tail: usize,
        strict: bool,
    ) -> Self {
        Self {
            input: Input {
                pipe: child.stdin.take(),
                bytes: io::Cursor::new(input),
            },
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            head: Head {
                bytes: Vec::new(),
                limit: head,
                over: false,
            },
            tail: Tail {
                bytes: VecDeque::new(),
                limit: tail,
                over: false,
            },
            strict,
        }
    }

    /// Whether there is anything left to move.
    pub(super) fn is_open(&self) -> bool {
        self.input.pipe.is_some() || self.stdout.is_some() || self.stderr.is_some()
    }

    /// Moves everything until all pipes are closed, or too much came.
    ///
    /// Cancellation: safe; what was moved is kept, and it can go on.
    pub(super) async fn run(&mut self) -> Result<(), Over> {
        let Self {
            input,
            stdout,
            stderr,
            head,
            tail,
            strict,
        } = self;
        let strict = *strict;
        tokio::try_join!(
            input.write(),
            read(stdout, |bytes| head.keep(bytes, strict)),
            read(stderr, |bytes| {
                tail.keep(bytes);
                Ok(())
            }),
        )
        .map(drop)
    }
}

impl Input {
    async fn write(&mut self) -> Result<(), Over> {
        if let Some(pipe) = &mut self.pipe {
            // A program need not read; what it makes of that, it says itself.
            let _ = pipe.write_all_buf(&mut self.bytes).await;
        }
        self.pipe = None;
        Ok(())
    }
}

fn read<R: AsyncRead + Unpin>(
    pipe: &mut Option<R>,
    mut keep: impl FnMut(&[u8]) -> Result<(), Over>,
) -> impl Future<Output = Result<(), Over>> {
    let mut chunk = vec![0; CHUNK];
    async move {
        while let Some(open) = pipe {
            match open.read(&mut chunk).await {
                Ok(count) if count > 0 => keep(chunk.get(..count).unwrap_or_default())?,
                _ => *pipe = None,
            }
        }
        Ok(())
    }
}

impl Head {
    fn keep(&mut self, bytes: &[u8], strict: bool) -> Result<(), Over> {
        let room = self.limit.saturating_sub(self.bytes.len());
        self.over |= bytes.len() > room;
        self.bytes.extend(bytes.iter().take(room));
        if self.over && strict {
            return Err(Over);
        }
        Ok(())
    }
}

impl Tail {
    fn keep(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(self.limit);
        self.over |= surplus > 0;
        self.bytes.drain(..surplus);
    }
}
