//! Files of the world: `/file`, `/setup/upload`, `/list_directory`, `/desktop_path`.

use std::sync::Arc;

use apprentice_protocol::{DirEntry, EntryKind};
use axum::body::Bytes;
use axum::extract::{Multipart, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Form, Json};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::command::{at_home, json_body};
use crate::problem::{Answer, Problem};
use crate::served_world::ServedWorld;

#[derive(Deserialize)]
pub(crate) struct FileName {
    file_path: String,
}

#[derive(Deserialize)]
struct Folder {
    path: String,
}

/// `POST /file`: the contents of a file.
pub(crate) async fn read(
    State(world): State<Arc<ServedWorld>>,
    Form(asked): Form<FileName>,
) -> Answer<impl IntoResponse> {
    let machine = world.machine().await?;
    let bytes = machine.read(&at_home(&*machine, &asked.file_path)).await?;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], bytes))
}

/// `POST /setup/upload`: writes a file, with the folders above it.
pub(crate) async fn upload(
    State(world): State<Arc<ServedWorld>>,
    mut parts: Multipart,
) -> Answer<&'static str> {
    let machine = world.machine().await?;
    let broken = |error: axum::extract::multipart::MultipartError| Problem::request(error.body_text());
    let (mut path, mut content) = (None, None);
    while let Some(part) = parts.next_field().await.map_err(broken)? {
        match part.name().unwrap_or_default() {
            "file_path" => path = Some(utf8(&part.bytes().await.map_err(broken)?)?),
            "file_data" => content = Some(part.bytes().await.map_err(broken)?),
            other => return Err(Problem::request(format!("the form has an unknown part {other:?}"))),
        }
    }
    let (Some(path), Some(content)) = (path, content) else {
        return Err(Problem::request("the form needs the parts file_path and file_data"));
    };
    machine.write(&at_home(&*machine, &path), &content).await?;
    Ok("File Uploaded")
}

/// Paths are UTF-8, as OSWorld's clients send them. Asking the part for its text would bring the tables of all encodings of the web.
fn utf8(bytes: &[u8]) -> Answer<String> {
    let text = std::str::from_utf8(bytes);
    Ok(text.map_err(|_| Problem::request("the part file_path is not in UTF-8"))?.to_owned())
}

/// `POST /list_directory`: everything below a folder, as a tree.
pub(crate) async fn list(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<Json<Value>> {
    let machine = world.machine().await?;
    let Folder { path } = json_body(&body)?;
    let path = at_home(&*machine, &path);
    let entries = machine.list(&path).await?;
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    Ok(Json(json!({ "directory_tree": tree(name, &entries) })))
}

/// `POST /desktop_path`: the folder of the desktop.
pub(crate) async fn desktop(State(world): State<Arc<ServedWorld>>) -> Answer<Json<Value>> {
    let machine = world.machine().await?;
    let path = format!("{}/Desktop", machine.offers().home);
    machine.list(&path).await?;
    Ok(Json(json!({ "desktop_path": path })))
}

/// `POST /wallpaper`: worlds draw none.
pub(crate) async fn wallpaper() -> Problem {
    Problem::absent("this desktop has no wallpaper")
}

/// `POST /setup/download_file`: worlds have no network.
pub(crate) async fn download() -> Problem {
    Problem::world("the world has no network: fetch the file outside and send it to /setup/upload")
}

/// Makes the tree of OSWorld's answer from entries in the order of their paths.
fn tree(name: &str, entries: &[DirEntry]) -> Value {
    fn place<'a>(folder: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
        let children = folder.get_mut("children")?.as_array_mut()?;
        children.iter_mut().filter_map(Value::as_object_mut).find(|child| child["name"] == name)
    }
    let mut root = Map::from_iter([
        ("type".to_owned(), json!("directory")),
        ("name".to_owned(), json!(name)),
        ("children".to_owned(), json!([])),
    ]);
    for entry in entries {
        let (above, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        let mut folder = Some(&mut root);
        for part in above.split('/').filter(|part| !part.is_empty()) {
            folder = folder.and_then(|folder| place(folder, part));
        }
        let Some(children) =
            folder.and_then(|folder| folder.get_mut("children")).and_then(Value::as_array_mut)
        else {
            continue;
        };
        children.push(match entry.kind {
            EntryKind::Directory => json!({ "type": "directory", "name": name, "children": [] }),
            EntryKind::File | EntryKind::Link | EntryKind::Other => json!({ "type": "file", "name": name }),
        });
    }
    Value::Object(root)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{DirEntry, EntryKind};
    use serde_json::json;

    use super::tree;

    #[test]
    fn a_flat_listing_becomes_a_tree() {
        let entry = |path: &str, kind| DirEntry { path: path.into(), kind, size: 1 };
        let entries = [
            entry("a", EntryKind::Directory),
            entry("a/b", EntryKind::Directory),
            entry("a/b/c.txt", EntryKind::File),
            entry("a.txt", EntryKind::Link),
        ];
        let inner =
            json!({ "type": "directory", "name": "b", "children": [{ "type": "file", "name": "c.txt" }] });
        assert_eq!(
            tree("home", &entries),
            json!({ "type": "directory", "name": "home", "children": [
                { "type": "directory", "name": "a", "children": [inner] },
                { "type": "file", "name": "a.txt" },
            ] })
        );
    }
}
