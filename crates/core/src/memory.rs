//! Settings of the C library's allocator.

/// All threads share one heap, which grows in large steps. To be called before there are threads.
///
/// By default each thread has a heap of its own, which glibc enlarges page by page: a result of a thousand states took
/// 900 system calls for that. Small pieces are kept by each thread anyway, so few meet at the one heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_one_heap() {
    use std::ffi::c_int;

    const ARENA_MAX: c_int = -8;
    const TOP_PAD: c_int = -2;
    const STEP: c_int = 1024 * 1024;

    #[allow(unsafe_code)]
    // SAFETY: this is glibc's own declaration of it.
    unsafe extern "C" {
        safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }
    // Only a matter of speed.
    mallopt(ARENA_MAX, 1);
    mallopt(TOP_PAD, STEP);
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_one_heap() {}
