//! `lastrank lsp`: dispatches the requests of an editor.
//!
//! The language server protocol over standard input and output. Messages are plain JSON: of the
//! protocol's hundreds of types the server needs a dozen fields.

mod answers;
mod complete;
mod document;
mod frames;

use std::collections::HashMap;

use anyhow::Context;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde_json::{Value, json};

use crate::exit::Status;
use document::Document;

/// Serve until the editor says goodbye.
pub fn run() -> anyhow::Result<Status> {
    let (connection, threads) = frames::connection();
    let served = serve(&connection);
    drop(connection);
    // After an error the threads could wait for ever for an editor that has gone.
    if served.is_ok() {
        threads.join().context("the editor's pipe broke")?;
    }
    served.map(|()| Status::Ok)
}

fn capabilities() -> Value {
    json!({
        "textDocumentSync": 1,
        "hoverProvider": true,
        "completionProvider": {"triggerCharacters": ["$", "\""]},
        "definitionProvider": true,
        "documentSymbolProvider": true,
        "documentFormattingProvider": true,
        "codeActionProvider": {"codeActionKinds": ["quickfix"]},
    })
}

fn serve(connection: &Connection) -> anyhow::Result<()> {
    let goodbye = "the editor did not speak the language server protocol";
    let (id, _) = connection.initialize_start().context(goodbye)?;
    let server = json!({"name": "lastrank", "version": env!("CARGO_PKG_VERSION")});
    let answer = json!({"capabilities": capabilities(), "serverInfo": server});
    connection.initialize_finish(id, answer).context(goodbye)?;
    let mut open: HashMap<String, Document> = HashMap::new();
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).context(goodbye)? {
                    return Ok(());
                }
                connection.sender.send(answer_to(&open, request).into())?;
            }
            Message::Notification(notification) => {
                if let Some(diagnostics) = take(&mut open, &notification) {
                    let method = "textDocument/publishDiagnostics".to_owned();
                    connection.sender.send(Notification::new(method, diagnostics).into())?;
                }
            }
            Message::Response(_) => {}
        }
    }
    Ok(())
}

/// The diagnostics to publish for a document that was opened, changed or closed.
fn take(open: &mut HashMap<String, Document>, notification: &Notification) -> Option<Value> {
    let params = &notification.params;
    let uri = params["textDocument"]["uri"].as_str()?;
    let text = match notification.method.as_str() {
        "textDocument/didOpen" => params["textDocument"]["text"].as_str()?,
        // The server asks for whole texts, so the last change is the document.
        "textDocument/didChange" => params["contentChanges"].as_array()?.last()?["text"].as_str()?,
        "textDocument/didClose" => {
            open.remove(uri);
            return Some(json!({"uri": uri, "diagnostics": []}));
        }
        _ => return None,
    };
    let document = Document::new(uri, text);
    let diagnostics = answers::diagnostics(&document);
    open.insert(uri.to_owned(), document);
    Some(json!({"uri": uri, "diagnostics": diagnostics}))
}

fn answer_to(open: &HashMap<String, Document>, request: Request) -> Response {
    let Request { id, method, params } = request;
    let Some(document) = params["textDocument"]["uri"].as_str().and_then(|uri| open.get(uri)) else {
        let message = format!("`{method}` is not known, or its document is not open");
        return Response::new_err(id, ErrorCode::MethodNotFound as i32, message);
    };
    let at = || document.offset(&params["position"]);
    let result = match method.as_str() {
        "textDocument/hover" => answers::hover(document, at()),
        "textDocument/completion" => complete::completion(document, at()),
        "textDocument/definition" => answers::definition(document, at()),
        "textDocument/documentSymbol" => answers::symbols(document),
        "textDocument/formatting" => answers::formatting(document),
        "textDocument/codeAction" => answers::actions(document, &params["range"]),
        _ => {
            let message = format!("`{method}` is not known");
            return Response::new_err(id, ErrorCode::MethodNotFound as i32, message);
        }
    };
    Response::new_ok(id, result)
}
