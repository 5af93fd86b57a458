//! [`Window`]: flow control, the number of bytes of a stream that may still be sent.

/// The number of bytes that a stream may send before the first credit.
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
    /// Takes up to `wanted` bytes from the window, and returns how many may be sent now.
    pub fn take(&mut self, wanted: usize) -> usize {
        let granted = self.0.min(wanted as u64).min(CHUNK as u64);
        self.0 -= granted;
        granted as usize
    }

    /// Adds bytes that the receiver has read.
    pub fn grant(&mut self, bytes: u32) {
        // The limit guards against a hostile peer; more is never needed.
        self.0 = (self.0 + u64::from(bytes)).min(u64::from(WINDOW) * 4);
    }
}
