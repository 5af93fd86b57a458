//! Static files of a configured web page: SaltGUI, Halite, or your own.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::reply::ErrorResponse;
use crate::api::Api;

/// Larger files are not served.
const MAX_FILE_SIZE: u64 = 64 << 20;

pub async fn file(
    State(api): State<Arc<Api>>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let Some(root) = api.settings.static_files.clone() else { return Err(not_found_error()) };
    serve(root, path, headers).await
}

pub async fn icon(State(api): State<Arc<Api>>, headers: HeaderMap) -> Result<Response, ErrorResponse> {
    let Some(root) = api.settings.static_files.clone() else { return Err(not_found_error()) };
    serve(root, "favicon.ico".into(), headers).await
}

pub async fn app(State(api): State<Arc<Api>>, headers: HeaderMap) -> Response {
    main_page(&api, &headers).await
}

/// The page's main file, for any path: the app does its own routing.
pub async fn main_page(api: &Api, headers: &HeaderMap) -> Response {
    let place = api.settings.app.as_deref().and_then(|app| Some((app.parent()?, app.file_name()?.to_str()?)));
    match place {
        Some((root, name)) => {
            serve(root.to_owned(), name.to_owned(), headers.clone()).await.unwrap_or_else(IntoResponse::into_response)
        }
        None => not_found_error().into_response(),
    }
}

pub async fn not_found(_: Request) -> ErrorResponse {
    not_found_error()
}

pub async fn wrong_method(_: Request) -> ErrorResponse {
    ErrorResponse::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here")
}

fn not_found_error() -> ErrorResponse {
    ErrorResponse::new(StatusCode::NOT_FOUND, "not found")
}

async fn serve(root: PathBuf, path: String, headers: HeaderMap) -> Result<Response, ErrorResponse> {
    let kind = media_type(&path);
    let opened = tokio::task::spawn_blocking(move || read(&root, &path)).await;
    let Ok(Some(found)) = opened else { return Err(not_found_error()) };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut response = match known == Some(found.tag.as_str()) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(found.content)),
    };
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // Revalidated each time, mostly with 304.
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&found.tag) {
        answer.insert(header::ETAG, tag);
    }
    Ok(response)
}

struct StaticFile {
    content: Vec<u8>,
    tag: String,
}

/// Reads a file below a directory; no path or link can lead out of it (`docs/security-rules.md#r6`).
fn read(root: &FilePath, path: &str) -> Option<StaticFile> {
    let plain = !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    if !plain || path.contains('\0') {
        return None;
    }
    let root = File::open(root).ok()?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let opened: OwnedFd = openat2(&root, path, flags, Mode::empty(), beneath).ok()?;
    let file = File::from(opened);
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > MAX_FILE_SIZE {
        return None;
    }
    let mut content = Vec::with_capacity(about.len() as usize);
    file.take(MAX_FILE_SIZE).read_to_end(&mut content).ok()?;
    let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Some(StaticFile { content, tag: format!("\"{:x}-{:x}\"", about.len(), changed.map_or(0, |time| time.as_nanos())) })
}

/// The media type by the file's extension; browsers must not guess it.
fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
        Some("html" | "htm") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("ico") => "image/x-icon",
        Some("woff") => "font/woff",
        Some("woff2") => "font/woff2",
        Some("ttf") => "font/ttf",
        Some("eot") => "application/vnd.ms-fontobject",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_way_leads_out() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("static");
        fs::create_dir_all(root.join("a")).expect("made");
        fs::write(root.join("a/b.txt"), "b").expect("written");
        fs::write(directory.path().join("secret"), "s").expect("written");
        symlink("../secret", root.join("out")).expect("linked");
        symlink(directory.path().join("secret"), root.join("far")).expect("linked");
        symlink("a/b.txt", root.join("in")).expect("linked");
        assert_eq!(read(&root, "a/b.txt").expect("it is there").content, b"b");
        assert_eq!(read(&root, "in").expect("it stays below").content, b"b");
        for path in
            ["", "/", "a", "../secret", "a/../../secret", "out", "far", "/etc/passwd", "a//b.txt", "./a/b.txt", "a\0b"]
        {
            assert!(read(&root, path).is_none(), "{path:?}");
        }
    }
}
