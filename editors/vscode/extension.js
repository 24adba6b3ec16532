// Starts `lastrank lsp` for programs in PPL.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("ppl").get("server", "lastrank");
  const server = { command, args: ["lsp"] };
  const options = { documentSelector: [{ language: "ppl" }] };
  client = new LanguageClient("lastrank", "lastrank", server, options);
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
