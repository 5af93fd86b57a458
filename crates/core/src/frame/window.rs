//! [`Window`]: flow control, the number of bytes of a stream that may still be sent.

/// What a stream may send before the first credit comes.
pub const WINDOW: u32 = 1024 * 1024;

/// The largest piece of a stream in one frame.
pub const CHUNK: usize = 64 * 1024;

/// The sender's side of a stream's flow control.
#[derive(Debug)]
pub struct Window(u64);

impl Default for Window {
    fn default() -> Window {
        Window(u64::from(WINDOW))
    }
}

impl Window {
    /// How many bytes of `wanted` may go now; they count as sent.
    pub fn take(&mut self, wanted: usize) -> usize {
        let granted = self.0.min(wanted as u64).min(CHUNK as u64);
        self.0 -= granted;
        granted as usize
    }

    /// The receiver took in some bytes.
    pub fn grant(&mut self, bytes: u32) {
        // A hostile peer could grant for ever; more than this is never needed.
        self.0 = (self.0 + u64::from(bytes)).min(u64::from(WINDOW) * 4);
    }
}
