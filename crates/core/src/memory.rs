//! Settings of the C library's allocator.

/// Makes all threads share one heap, which grows in large steps. Must be called before any thread is started.
///
/// By default, each thread has its own heap, which glibc enlarges page by page: a result of a thousand states took 900
/// system calls for that. Each thread caches small allocations anyway, so the shared heap is rarely contended.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_one_heap() {
    use std::ffi::c_int;

    const ARENA_MAX: c_int = -8;
    const TOP_PAD: c_int = -2;
    const STEP: c_int = 1024 * 1024;

    #[allow(unsafe_code)]
    // SAFETY: this matches glibc's declaration.
    unsafe extern "C" {
        safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }
    // A failure only affects the speed.
    mallopt(ARENA_MAX, 1);
    mallopt(TOP_PAD, STEP);
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_one_heap() {}
