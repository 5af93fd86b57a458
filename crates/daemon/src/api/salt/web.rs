//! Files of a web page that the configuration names: SaltGUI, Halite, one of your own.

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

use super::reply::Refused;
use crate::api::Api;

/// Larger files are no part of a page.
const LARGEST: u64 = 64 << 20;

pub async fn file(
    State(api): State<Arc<Api>>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let Some(root) = api.settings.static_files.clone() else { return Err(no_such()) };
    serve(root, path, headers).await
}

pub async fn icon(State(api): State<Arc<Api>>, headers: HeaderMap) -> Result<Response, Refused> {
    let Some(root) = api.settings.static_files.clone() else { return Err(no_such()) };
    serve(root, "favicon.ico".into(), headers).await
}

pub async fn app(State(api): State<Arc<Api>>, headers: HeaderMap) -> Response {
    main_page(&api, &headers).await
}

/// The page itself, whatever the address: it finds its way by its own.
pub async fn main_page(api: &Api, headers: &HeaderMap) -> Response {
    let place = api.settings.app.as_deref().and_then(|app| Some((app.parent()?, app.file_name()?.to_str()?)));
    match place {
        Some((root, name)) => {
            serve(root.to_owned(), name.to_owned(), headers.clone()).await.unwrap_or_else(IntoResponse::into_response)
        }
        None => no_such().into_response(),
    }
}

pub async fn nothing(_: Request) -> Refused {
    no_such()
}

pub async fn wrong_method(_: Request) -> Refused {
    Refused::new(StatusCode::METHOD_NOT_ALLOWED, "this can't be done here")
}

fn no_such() -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "there is nothing here")
}

async fn serve(root: PathBuf, path: String, headers: HeaderMap) -> Result<Response, Refused> {
    let kind = media_type(&path);
    let opened = tokio::task::spawn_blocking(move || read(&root, &path)).await;
    let Ok(Some(found)) = opened else { return Err(no_such()) };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut response = match known == Some(found.tag.as_str()) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(found.content)),
    };
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // Asked for anew each time, and mostly answered with "as it was".
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&found.tag) {
        answer.insert(header::ETAG, tag);
    }
    Ok(response)
}

struct Found {
    content: Vec<u8>,
    tag: String,
}

/// A file below a directory, by a way that leads nowhere else whatever is in it (rule R6).
fn read(root: &FilePath, path: &str) -> Option<Found> {
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
    if !about.is_file() || about.len() > LARGEST {
        return None;
    }
    let mut content = Vec::with_capacity(about.len() as usize);
    file.take(LARGEST).read_to_end(&mut content).ok()?;
    let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Some(Found { content, tag: format!("\"{:x}-{:x}\"", about.len(), changed.map_or(0, |time| time.as_nanos())) })
}

/// By the name's end; never guessed by the browser.
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
