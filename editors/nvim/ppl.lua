-- PPL in Neovim 0.7 and later: file type, comments, and `lastrank lsp`. Put this file into
-- ~/.config/nvim/plugin/, or `:luafile` it. `lastrank` must be in the PATH.

local server = { name = "lastrank", cmd = { "lastrank", "lsp" } }

vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = { "*.ppl", "*.pbl" },
  callback = function()
    vim.bo.filetype = "ppl"
  end,
})

vim.api.nvim_create_autocmd("FileType", {
  pattern = "ppl",
  callback = function(event)
    vim.bo.commentstring = "# %s"
    vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
    if vim.lsp.start then
      vim.lsp.start(server)
    else
      -- Before 0.8 each buffer is attached explicitly; all share one server.
      server.id = server.id or vim.lsp.start_client(server)
      vim.lsp.buf_attach_client(event.buf, server.id)
    end
  end,
})
