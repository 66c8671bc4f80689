//! The body of a response, up to a limit.

use reqwest::Response;

/// As much of a body as there is and as may be held.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// Whether that is all of it.
    pub(super) whole: bool,
}

/// Reads at most `limit` bytes; what follows is left on the wire.
pub(super) async fn read(response: &mut Response, limit: usize) -> Result<Body, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - bytes.len();
        bytes.extend(chunk.iter().take(room));
        if chunk.len() > room {
            return Ok(Body {
                bytes,
                whole: false,
            });
        }
    }
    Ok(Body { bytes, whole: true })
}
