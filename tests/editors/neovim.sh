#!/usr/bin/env bash
# Tests the set-up of docs/editors.md in a real Neovim. Needs nvim, and lastrank in the PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '$file = 1;\nrepeat 3{print($fiel);}\n' > a.ppl
cat > drive.lua <<'LUA'
local function until_true(what, condition)
  if not vim.wait(10000, condition, 20) then
    io.stderr:write("FAILED: " .. what .. "\n")
    vim.cmd("cquit 1")
  end
  print("ok: " .. what)
end
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 5000)
  for _, answer in pairs(answers or {}) do
    return answer.result
  end
end
until_true("a mistake is shown", function() return #vim.diagnostic.get(0) == 1 end)
print("    " .. vim.diagnostic.get(0)[1].message:gsub("\n", " "))
vim.api.nvim_win_set_cursor(0, { 2, 1 })
local hover = ask("textDocument/hover", vim.lsp.util.make_position_params(0, "utf-16"))
until_true("a word is explained", function() return hover.contents.value:find("repeat n S", 1, true) end)
vim.api.nvim_buf_set_lines(0, 1, 2, false, { "repeat 3{print($file);}" })
until_true("the mistake goes when mended", function() return #vim.diagnostic.get(0) == 0 end)
if vim.lsp.buf.format then vim.lsp.buf.format({ timeout_ms = 5000 }) else vim.lsp.buf.formatting_sync(nil, 5000) end
local line = vim.api.nvim_buf_get_lines(0, 1, 2, false)[1]
until_true("the buffer is formatted: " .. line, function() return line == "repeat 3 { print($file); }" end)
vim.cmd("qall!")
LUA
nvim --version | head -1
timeout 60 nvim --headless -u NONE --cmd "luafile $here/editors/nvim/ppl.lua" --cmd "filetype on" a.ppl -c "luafile drive.lua"
echo
